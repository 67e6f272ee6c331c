"""metrics.json: the metrics of torchmetrics and scikit-learn for predictions in several batches.

A case: `batches` (`preds`, `target` as nested lists, with `dtype` of the predictions, `int` for classes), and `expected`,
each `{"metric", "kwargs", "torchmetrics", "sklearn"}`. torchmetrics computes in single precision, scikit-learn in double; where
one of the two has no such metric, or defines it differently, its value is missing. `task` is a number of classes, or `binary`.
"""

import warnings

import numpy
import sklearn.metrics as sk
import torch
import torchmetrics as tm
import torchmetrics.aggregation
import torchmetrics.text

from common import integers, random, write_json

CASES = []


def listed(value):
    return value.tolist() if hasattr(value, "tolist") else value


def of_torchmetrics(metric, batches):
    for preds, target in batches:
        metric.update(preds, target)
    return metric.compute()


def record(batches, dtype, expected):
    rows = [{"preds": listed(p), "target": listed(t)} for p, t in batches]
    CASES.append({"dtype": dtype, "batches": rows, "expected": expected})


def joined(batches):
    """Scores as rows, and targets, of all batches."""
    scores = [p.movedim(1, -1).reshape(-1, p.shape[1]) if p.ndim > t.ndim else p.reshape(-1) for p, t in batches]
    return torch.cat(scores), torch.cat([t.reshape(-1) for _, t in batches])


def counted(classes, target, ignore):
    keep = target != ignore if ignore is not None else torch.ones_like(target, dtype=torch.bool)
    return classes[keep].numpy(), target[keep].numpy()


def expect(metric, task, kwargs, torchmetrics=None, sklearn=None):
    entry = {"metric": metric, "task": task, "kwargs": kwargs}
    if torchmetrics is not None:
        entry["torchmetrics"] = listed(torchmetrics)
    if sklearn is not None:
        entry["sklearn"] = listed(sklearn)
    return entry


def classification(task, batches, dtype, ignore=None, threshold=0.5, from_logits=False):
    """All scores of classes of one set of batches."""
    binary = task == "binary"
    common = {} if ignore is None else {"ignore_index": ignore}
    of_task = dict(task="binary", threshold=threshold) if binary else dict(task="multiclass", num_classes=task)
    ours = dict(common)
    if binary:
        ours |= {"threshold": threshold, "from_logits": from_logits}
    scores, target = joined(batches)
    if scores.ndim > 1:
        classes = scores.argmax(1)
    elif binary and scores.is_floating_point():
        classes = ((scores.sigmoid() if from_logits else scores) > threshold).long()
    else:
        classes = scores
    predicted, truth = counted(classes, target, ignore)
    labels = list(range(2 if binary else task))
    expected = []

    def both(metric, average, ours_more, sklearn):
        theirs = getattr(tm, metric)(**of_task, **common, **({} if binary else {"average": average}), **ours_more)
        name = {} if binary else {"average": average}
        expected.append(expect(metric, task, ours | name | ours_more, of_torchmetrics(theirs, batches), sklearn))

    for average in ["micro"] if binary else ["micro", "macro", "weighted", "none"]:
        accuracy = sk.accuracy_score(truth, predicted) if average == "micro" else None
        both("Accuracy", average, {}, accuracy)
        for metric, function in (("Precision", sk.precision_score), ("Recall", sk.recall_score), ("F1Score", sk.f1_score)):
            for zero_division in (0.0, 1.0):
                named = dict(average="binary") if binary else dict(average=None if average == "none" else average)
                if average == "none":
                    named["labels"] = labels
                value = function(truth, predicted, zero_division=zero_division, **named)
                # scikit-learn gives a class that does not occur no weight in a mean, as torchmetrics.
                both(metric, average, {"zero_division": zero_division}, value)
    if scores.ndim > 1:
        for top_k in (2, 3):
            if top_k <= task:
                for average in ("micro", "macro"):
                    both("Accuracy", average, {"top_k": top_k}, None)
    for normalize in (None, "true", "pred", "all"):
        theirs = tm.ConfusionMatrix(**of_task, **common, normalize=normalize)
        matrix = sk.confusion_matrix(truth, predicted, labels=labels, normalize=normalize)
        name = {} if normalize is None else {"normalize": normalize}
        expected.append(expect("ConfusionMatrix", task, ours | name, of_torchmetrics(theirs, batches), matrix))
    record(batches, dtype, expected)


def auroc(task, batches, ignore=None, from_logits=False):
    binary = task == "binary"
    kwargs = ({} if ignore is None else {"ignore_index": ignore}) | {"from_logits": from_logits}
    common = {} if ignore is None else {"ignore_index": ignore}
    of_task = dict(task="binary") if binary else dict(task="multiclass", num_classes=task)
    scores, target = joined(batches)
    if from_logits:
        scores = scores.sigmoid() if binary else scores.softmax(1)
    keep = target != ignore if ignore is not None else torch.ones_like(target, dtype=torch.bool)
    scores, target = scores[keep].double().numpy(), target[keep].numpy()
    expected = []
    if binary:
        value = sk.roc_auc_score(target, scores)
        expected.append(expect("AUROC", task, kwargs, of_torchmetrics(tm.AUROC(**of_task, **common), batches), value))
    else:
        hot = target[:, None] == numpy.arange(task)
        for average in ("macro", "weighted", "none"):
            value = sk.roc_auc_score(hot, scores, average=None if average == "none" else average)
            theirs = of_torchmetrics(tm.AUROC(**of_task, **common, average=average), batches)
            expected.append(expect("AUROC", task, kwargs | {"average": average}, theirs, value))
    record(batches, "f32", expected)


def perplexity():
    sizes = [(2, 5, 7), (1, 5, 7), (3, 2, 7)]
    for ignore in (None, -100, 3):
        batches = []
        for i, shape in enumerate(sizes):
            target = integers(shape[:2], 950 + i, 0, 7)
            if ignore == -100:
                target[0, -1] = -100
            batches.append((random(shape, 900 + i, low=-4, high=4), target))
        theirs = of_torchmetrics(tm.text.Perplexity(ignore_index=ignore), batches)
        kwargs = {} if ignore is None else {"ignore_index": ignore}
        record(batches, "f32", [expect("Perplexity", None, kwargs, theirs)])


def regression():
    for width in (None, 3):
        shapes = [(n,) if width is None else (n, width) for n in (6, 1, 4)]
        batches = [(random(s, 800 + i), random(s, 850 + i) + 3) for i, s in enumerate(shapes)]
        preds, target = (torch.cat(list(of)).double().numpy() for of in zip(*batches))

        score = tm.R2Score()
        record(batches, "f32", [
            expect("MeanSquaredError", None, {}, of_torchmetrics(tm.MeanSquaredError(), batches), sk.mean_squared_error(target, preds)),
            expect("MeanSquaredError", None, {"squared": False}, of_torchmetrics(tm.MeanSquaredError(squared=False), batches),
                   sk.mean_squared_error(target.reshape(-1), preds.reshape(-1)) ** 0.5),
            expect("MeanAbsoluteError", None, {}, of_torchmetrics(tm.MeanAbsoluteError(), batches), sk.mean_absolute_error(target, preds)),
            expect("R2Score", None, {}, of_torchmetrics(score, batches), sk.r2_score(target, preds)),
        ])
    # Targets that lie far from 0, whose variance a sum of squares loses.
    batches = [(random((20,), 870, torch.float64) + 1e6, random((20,), 871, torch.float64) + 1e6)]
    record(batches, "f64", [expect("R2Score", None, {}, None, sk.r2_score(batches[0][1].numpy(), batches[0][0].numpy()))])
    # Small numbers, of which torchmetrics takes every sum of squares for 0: it gives 1.
    batches = [(random((20,), 872, torch.float64) * 1e-3, random((20,), 873, torch.float64) * 1e-3)]
    assert of_torchmetrics(tm.R2Score(), batches) == 1
    record(batches, "f64", [expect("R2Score", None, {}, None, sk.r2_score(batches[0][1].numpy(), batches[0][0].numpy()))])
    constant = torch.full((4,), 2.0)
    for preds in (constant, constant + torch.tensor([0.0, 1.0, 0.0, 0.0])):
        record([(preds, constant)], "f32", [expect("R2Score", None, {}, None, sk.r2_score(constant.numpy(), preds.numpy()))])


def means():
    values = [random((3,), 700), random((2,), 701), random((4,), 702)]
    weights = [random((3,), 710, low=0), random((2,), 711, low=0), torch.full((4,), 0.5)]
    mean, running = tm.aggregation.MeanMetric(), tm.aggregation.RunningMean(window=2)
    after = []
    for value, weight in zip(values, weights):
        mean.update(value, weight)
        running.update(value)
        after.append(running.compute().item())
    rows = [(v, w) for v, w in zip(values, weights)]
    weighted = numpy.average(torch.cat(values).double().numpy(), weights=torch.cat(weights).double().numpy())
    record(rows, "f32", [
        expect("MeanMetric", None, {}, mean.compute(), weighted),
        expect("RunningMean", None, {"window": 2}, torch.tensor(after)),
    ])


def scores(shape, seed, ties=False):
    made = random(shape, seed, low=-3, high=3)
    return torch.round(made * 2) / 2 if ties else made


def split(seed, sizes, classes, extra=(), high=None, ties=False):
    """Batches of scores and of targets below `high`."""
    high = classes if high is None else high
    return [
        (scores((n, classes, *extra), seed + i, ties), integers((n, *extra), seed + 50 + i, 0, high))
        for i, n in enumerate(sizes)
    ]


def ignoring(batches, value):
    for i, (_, target) in enumerate(batches):
        target.reshape(-1)[i % 2::3] = value
    return batches


def write():
    CASES.clear()
    warnings.simplefilter("ignore")
    classification(4, split(100, (7, 5, 1), 4), "f32")
    classification(6, split(110, (9, 4), 6, high=3), "f32")
    classification(3, split(120, (5,), 3, high=1), "f32")
    classification(5, ignoring(split(130, (8, 6), 5), -100), "f32", ignore=-100)
    classification(5, ignoring(split(140, (8, 6), 5), 2), "f32", ignore=2)
    classification(3, split(150, (2, 3), 3, extra=(2, 3)), "f32")
    as_classes = [(integers((n,), 160 + n, 0, 4), integers((n,), 170 + n, 0, 4)) for n in (6, 5)]
    classification(4, as_classes, "int")
    halves = [(torch.round(random((n,), 180 + n, low=0, high=1) * 8) / 8, integers((n,), 190 + n, 0, 2)) for n in (9, 6)]
    classification("binary", halves, "f32")
    classification("binary", halves, "f32", threshold=0.25)
    # In each batch is a logit outside [0, 1], from which torchmetrics guesses that they are logits.
    logits = [(random((n, 2), 200 + n, low=-3, high=3), integers((n, 2), 210 + n, 0, 2)) for n in (5, 4)]
    classification("binary", ignoring(logits, -1), "f32", ignore=-1, from_logits=True)
    nothing = [(torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 0]))]
    classification("binary", nothing, "f32")

    auroc("binary", halves)
    auroc("binary", logits, ignore=-1, from_logits=True)
    auroc(3, split(300, (8, 9), 3, ties=True), from_logits=True)
    auroc(4, ignoring(split(310, (12, 15), 4), -100), ignore=-100, from_logits=True)
    probabilities = [(torch.softmax(scores((n, 3, 2), 320 + n), 1), integers((n, 2), 330 + n, 0, 3)) for n in (5, 6)]
    auroc(3, probabilities)
    perplexity()
    regression()
    means()
    write_json("metrics.json", CASES)
    return len(CASES)
