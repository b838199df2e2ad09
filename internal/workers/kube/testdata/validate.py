"""Validates manifests from stdin by the published schemas of the oldest and the
newest Kubernetes that there are any of, and prints them as JSON: read as YAML
1.1, as kubectl does."""
import json
import sys

import kubernetes_validate
import yaml

documents = list(yaml.safe_load_all(sys.stdin.buffer.read().decode()))
versions = kubernetes_validate.utils.all_versions()
for document in documents:
    for version in (versions[0], versions[-1]):
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as e:
            path = ".".join(str(p) for p in e.path)
            sys.exit(f"{document['kind']} {document['metadata']['name']}, Kubernetes {version}: {path}: {e.message}")
json.dump(documents, sys.stdout)
