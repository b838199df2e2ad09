"""Judges a cache with Hugging Face's own library, and fills one.

    judge.py read CACHE      what the library finds in a cache, without a network
    judge.py fill CACHE      what it downloads from HF_ENDPOINT
"""
import json
import sys

from huggingface_hub import hf_hub_download, scan_cache_dir

way, cache = sys.argv[1:]
wanted = [
    ("model", "acme/tiny", "tokenizer.json"),
    ("model", "acme/tiny", "tokenizer_config.json"),
    ("dataset", "acme/talks", "data/train.jsonl"),
]
found = {}
for kind, repo, name in wanted:
    path = hf_hub_download(repo, name, repo_type=kind, cache_dir=cache, local_files_only=way == "read")
    found[name] = open(path, encoding="utf-8").read()
scan = scan_cache_dir(cache)
print(json.dumps({
    "files": found,
    "warnings": [str(w) for w in scan.warnings],
    "repos": sorted([r.repo_type, r.repo_id, sorted(x.commit_hash for x in r.revisions), sorted(r.refs), r.nb_files] for r in scan.repos),
}))
