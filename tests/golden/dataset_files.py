"""dataset_files/: files in the formats of published data sets, and their contents as read by torchvision, PIL, NumPy and csv."""

import csv
import gzip
import pickle
import shutil
import struct
import tempfile

import numpy
import torch
from PIL import Image
from torchvision.datasets import CIFAR10, CIFAR100, ImageFolder
from torchvision.datasets.mnist import read_sn3_pascalvincent_tensor

from common import DATA, write_safetensors

FOLDER = DATA / "dataset_files"


def generator(seed):
    return numpy.random.RandomState(seed)


def idx_bytes(code, array):
    return struct.pack(">BBBB", 0, 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def idx(expected):
    kinds = {"u8": (0x08, ">u1"), "i8": (0x09, ">i1"), "i16": (0x0B, ">i2"), "i32": (0x0C, ">i4"), "f32": (0x0D, ">f4"), "f64": (0x0E, ">f8")}
    shapes = [(7,), (3, 5), (2, 3, 4)]
    for seed, (name, (code, dtype)) in enumerate(kinds.items()):
        shape = shapes[seed % 3]
        drawn = generator(seed).uniform(-128, 128, shape)
        array = (drawn + 128 if name == "u8" else drawn * (1 if name in ("i8",) else 200)).astype(dtype)
        path = FOLDER / f"{name}.idx"
        path.write_bytes(idx_bytes(code, array))
        read = read_sn3_pascalvincent_tensor(str(path), strict=False)
        # i8 and i16 are not dtypes of the files that the tests read.
        expected[f"idx.{name}"] = read.to(torch.int64) if name in ("i8", "i16") else read
    images = generator(20).randint(0, 256, (5, 28, 28)).astype(">u1")
    labels = generator(21).randint(0, 10, (5,)).astype(">u1")
    for name, array in (("images", images), ("labels", labels)):
        content = idx_bytes(0x08, array)
        (FOLDER / f"mnist-{name}.idx").write_bytes(content)
        # Header with a name and two members, as `cat a.gz b.gz` gives.
        head, tail = content[:40], content[40:]
        packed = gzip.compress(head, mtime=0) + gzip.compress(tail, 1, mtime=0)
        (FOLDER / f"mnist-{name}.idx.gz").write_bytes(packed)
        expected[f"mnist.{name}"] = read_sn3_pascalvincent_tensor(str(FOLDER / f"mnist-{name}.idx"))
    # A member with an extra field, a name, a comment and a checksum of the header.
    import zlib

    head = b"\x1f\x8b\x08\x1e" + bytes(5) + b"\xff" + struct.pack("<H", 3) + b"abc" + b"name\0" + b"a comment\0"
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    content = (FOLDER / "u8.idx").read_bytes()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush()
    (FOLDER / "fields.gz").write_bytes(head + packed + struct.pack("<II", zlib.crc32(content), len(content)))


def cifar(expected):
    """CIFAR's readers in torchvision read the version for Python; the binary one has the same bytes."""
    for name, count, labels in (("cifar10", [3, 2], ("labels",)), ("cifar100", [4], ("coarse_labels", "fine_labels"))):
        folder = tempfile.mkdtemp()
        of = CIFAR10 if name == "cifar10" else CIFAR100
        base = DATA.__class__(folder) / of.base_folder
        base.mkdir()
        draws = generator(30 + len(labels))
        lists = []
        for number, size in enumerate(count):
            data = draws.randint(0, 256, (size, 3072)).astype(numpy.uint8)
            given = {key: draws.randint(0, {"labels": 10, "coarse_labels": 20, "fine_labels": 100}[key], size).tolist() for key in labels}
            with open(base / f"batch{number}", "wb") as file:
                pickle.dump({"data": data, **given}, file)
            lists.append([f"batch{number}", None])
            records = b"".join(bytes([given[key][i] for key in labels]) + data[i].tobytes() for i in range(size))
            (FOLDER / f"{name}-{number}.bin").write_bytes(records)
            if name == "cifar100":
                expected["cifar100.coarse"] = torch.tensor(given["coarse_labels"])
        names = {of.meta["key"]: [str(i) for i in range(100)]}
        with open(base / of.meta["filename"], "wb") as file:
            pickle.dump(names, file)

        class Read(of):
            train_list = lists
            test_list = lists
            meta = {**of.meta, "md5": None}

            def _check_integrity(self):
                return True

        dataset = Read(folder, train=True)
        expected[f"{name}.images"] = torch.tensor(dataset.data).permute(0, 3, 1, 2).contiguous()
        expected[f"{name}.labels"] = torch.tensor(dataset.targets)
        shutil.rmtree(folder)


def tables(expected):
    text = 'id,"the, length",width,kind\r\n1,5.1, 3.5 ,setosa\r\n\r\n2,"6.25",-3e-4,"vir""ginica"\r\n3,0.1,7,setosa\r\n'
    (FOLDER / "table.csv").write_bytes(text.encode())
    rows = [row for row in csv.reader(text.splitlines()) if row]
    numbers = numpy.array([[float(cell) for cell in row[:3]] for row in rows[1:]])
    expected["table.numbers"] = torch.tensor(numbers)
    classes = sorted({row[3] for row in rows[1:]})
    expected["table.classes"] = torch.tensor([classes.index(row[3]) for row in rows[1:]])
    drawn = generator(40).uniform(-5, 5, (6, 3))
    path = FOLDER / "numbers.tsv"
    numpy.savetxt(path, drawn, delimiter="\t")
    expected["numbers"] = torch.tensor(numpy.loadtxt(path, delimiter="\t"))
    return {"names": rows[0], "classes": classes}


def pictures(expected):
    root = FOLDER / "images"
    draws = generator(50)

    def smooth(height, width, channels):
        y, x = numpy.mgrid[0:height, 0:width]
        planes = [127 + 100 * numpy.sin((x + 2 * k) / 5 + y / (3 + k)) for k in range(channels)]
        return numpy.stack(planes, -1).astype(numpy.uint8)

    (root / "dog" / "more").mkdir(parents=True)
    (root / "cat").mkdir()
    (root / "Bird").mkdir()
    Image.fromarray(draws.randint(0, 256, (5, 7, 3)).astype(numpy.uint8)).save(root / "dog" / "b.png")
    Image.fromarray(draws.randint(0, 256, (4, 3)).astype(numpy.uint8)).save(root / "dog" / "A.PNG")
    Image.fromarray(draws.randint(0, 256, (3, 4, 4)).astype(numpy.uint8)).save(root / "dog" / "more" / "alpha.png")
    Image.fromarray(draws.randint(0, 256, (6, 5, 2)).astype(numpy.uint8), "LA").save(root / "cat" / "gray-alpha.png")
    Image.fromarray(draws.randint(0, 256, (6, 5, 3)).astype(numpy.uint8)).quantize(16).save(root / "cat" / "palette.png")
    Image.fromarray(smooth(17, 23, 3)).save(root / "Bird" / "420.jpg", quality=90)
    Image.fromarray(smooth(16, 9, 3)).save(root / "Bird" / "444.jpeg", quality=95, subsampling=0)
    Image.fromarray(smooth(9, 16, 1)[..., 0]).save(root / "Bird" / "gray.jpg", quality=80)
    Image.fromarray(smooth(20, 20, 3)).save(root / "Bird" / "progressive.jpg", progressive=True, subsampling=0, quality=85)
    (root / "Bird" / "notes.txt").write_text("no picture\n")
    (root / "README.md").write_text("no class\n")
    dataset = ImageFolder(str(root))
    for number, (image, _) in enumerate(dataset):
        expected[f"image.{number}"] = torch.tensor(numpy.array(image)).permute(2, 0, 1).contiguous()
    files = [str(DATA.__class__(path).relative_to(root)) for path, _ in dataset.samples]
    return {"classes": dataset.classes, "files": files, "labels": dataset.targets}


def rows(expected):
    x = generator(60).uniform(-1, 1, (6, 2, 3))
    numpy.save(FOLDER / "rows.npy", x.astype("<f4"))
    numpy.save(FOLDER / "columns.npy", numpy.asfortranarray(x))
    x.astype("<f8").tofile(FOLDER / "rows.f64")
    expected["rows"] = torch.tensor(x)


def write():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    expected = {}
    idx(expected)
    cifar(expected)
    table = tables(expected)
    images = pictures(expected)
    rows(expected)
    write_safetensors("dataset_files.safetensors", expected, {"table": table, "images": images})
    return len(expected)
