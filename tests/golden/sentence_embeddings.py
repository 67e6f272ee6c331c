"""examples/data/sentence_embeddings/: sentences, a tiny BERT with a tokenizer, and its embeddings by transformers.

`tiny/` is what `examples/sentence_embedding.rs` uses if all-MiniLM-L6-v2 is missing: fresh weights, so that only
common words make sentences similar. `tiny.safetensors` and `minilm.safetensors` have the `embeddings` of the sentences:
the mean of the tokens' hidden states, divided by its norm, in double precision. `examples/fetch_minilm.sh` downloads the model.
"""

import json
import pathlib
import shutil

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch.nn import functional as F
from transformers import BertConfig, BertModel

from common import compact, write_safetensors
from published import move

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/data/sentence_embeddings"
MINILM = ROOT / "target/minilm"
MAX_TOKENS = 256

LONG = ("The ferry to the islands leaves at seven in the morning, and whoever wants to take a bicycle along has to be at "
        "the pier half an hour earlier. ")

SENTENCES = [
    "A cat sleeps on the warm sofa.",
    "The kitten is napping on the couch.",
    "Stock markets fell sharply on Monday.",
    "Shares dropped as investors sold on Monday.",
    "How do I bake bread without yeast?",
    "Is there a recipe for bread that needs no yeast?",
    # Accents, another script, a word that no vocabulary has, and marks.
    "Naïve café visitors in 東京 said: “Ça va?” -- 42% of them, e.g. Brzęczyszczykiewicz!",
    # More tokens than the 128 after which the tokenizer's own file cuts.
    LONG * 4 + "The last one back is at nine.",
]


def write_tokenizer(path):
    """A WordPiece tokenizer, as BERT's, of a few hundred tokens: characters, and words of at most seven.

    The library's trainer breaks ties in any order, so that two runs give different files.
    """
    normalizer, words = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    texts = [normalizer.normalize_str(text) for text in SENTENCES]
    texts = {word for text in texts for word, _ in words.pre_tokenize_str(text)}
    characters = set("".join(texts))
    known = [*sorted(characters), *sorted("##" + one for one in characters)]
    known += sorted(word for word in texts if 1 < len(word) <= 7)
    vocabulary = {token: index for index, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, words
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(list(vocabulary)[:5])
    ends = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    # As MiniLM's file has them; readers must not take them over.
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(path), pretty=False)
    return len(vocabulary)


def write_tiny():
    folder = FOLDER / "tiny"
    folder.mkdir(parents=True)
    config = BertConfig(vocab_size=write_tokenizer(folder / "tokenizer.json"), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=MAX_TOKENS, initializer_range=0.3)
    torch.manual_seed(0)
    model = move(BertModel(config))
    # Words count for more than places.
    model.embeddings.word_embeddings.weight.data *= 4
    model.save_pretrained(folder)
    (folder / "sentence_bert_config.json").write_text(compact({"max_seq_length": MAX_TOKENS, "do_lower_case": False}) + "\n")


def embed(folder):
    """The embeddings of the sentences, and their numbers of tokens."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()
    texts = tokenizer.encode_batch(SENTENCES)
    ids, mask = (torch.tensor([getattr(text, name) for text in texts]) for name in ("ids", "attention_mask"))
    model = BertModel.from_pretrained(folder).double().eval()
    with torch.no_grad():
        hidden = model(ids, attention_mask=mask).last_hidden_state
    mask = mask.unsqueeze(-1)
    mean = (hidden * mask).sum(1) / mask.sum(1)
    return F.normalize(mean, dim=1).float(), mask.sum((1, 2)).tolist()


def write():
    if not (MINILM / "model.safetensors").exists():
        raise SystemExit("all-MiniLM-L6-v2 is not there: run examples/fetch_minilm.sh")
    shutil.rmtree(FOLDER, ignore_errors=True)
    write_tiny()
    (FOLDER / "sentences.json").write_text(json.dumps(SENTENCES, indent=1, ensure_ascii=False) + "\n")
    for name, folder in (("tiny", FOLDER / "tiny"), ("minilm", MINILM)):
        embeddings, tokens = embed(folder)
        write_safetensors(FOLDER / f"{name}.safetensors", {"embeddings": embeddings}, {"tokens": tokens})
    return 2
