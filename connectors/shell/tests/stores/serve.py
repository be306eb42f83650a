# SPDX-License-Identifier: Apache-2.0
"""Serves a file as object data/t.parquet of a bucket, by a store on this machine.

Usage: serve.py s3|gs FILE, or serve.py az FILE AZURITE

It prints the environment in which a client finds the store and may read it, a NAME=VALUE a line and
then an empty line, and ends when its standard input does.

- s3: moto, which checks the signature of every request once the bucket is there.
- gs: moto too, which gives to nobody what is not public, as data/private.parquet is not. Requests
  that only read are the same in both interfaces, and the emulator of the other service that PyPI
  has knows neither HEAD nor ranges.
- az: azurite, which checks signatures.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile

BUCKET = "bucket"
KEY = "data/t.parquet"
REGION = "eu-west-1"


def moto():
    """Starts moto; returns its URL and a maker of clients."""
    os.environ.update(AWS_ACCESS_KEY_ID="first", AWS_SECRET_ACCESS_KEY="first")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    return url, lambda service: boto3.client(service, endpoint_url=url, region_name=REGION)


def put(client, data):
    place = {"LocationConstraint": REGION}
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)
    client.put_object(Bucket=BUCKET, Key=KEY, Body=data, ACL="public-read")


def serve_s3(data):
    import requests

    url, client = moto()
    put(client("s3"), data)
    users = client("iam")
    users.create_user(UserName="reader")
    everything = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [everything]})
    users.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=policy)
    key = users.create_access_key(UserName="reader")["AccessKey"]
    # From the next request on, signatures are checked.
    requests.post(url + "/moto-api/reset-auth", data="0", timeout=30).raise_for_status()
    return {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "AWS_REGION": REGION,
        "AWS_ENDPOINT": url,
        "AWS_ALLOW_HTTP": "true",
    }


def serve_gs(data):
    url, client = moto()
    put(client("s3"), data)
    client("s3").put_object(Bucket=BUCKET, Key="data/private.parquet", Body=data)
    key = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": ""}
    key["private_key_id"] = ""
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key), "GOOGLE_ALLOW_HTTP": "true"}


def serve_az(data, azurite):
    from azure.storage.blob import BlobServiceClient

    folder = tempfile.TemporaryDirectory()
    options = ["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"]
    options += ["--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    secret = base64.b64encode(b"a key of the tests").decode()
    server = subprocess.Popen(
        [azurite, *options],
        cwd=folder.name,
        env={**os.environ, "AZURITE_ACCOUNTS": f"tests:{secret}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
    )
    CHILDREN.append(server)
    lines = (line for line in server.stdout if "successfully listen" in line)
    url = next(lines).split()[-1] + "/tests"
    client = BlobServiceClient(url, {"account_name": "tests", "account_key": secret})
    container = client.create_container(BUCKET)
    container.upload_blob(KEY, data)
    return {
        "AZURE_STORAGE_ACCOUNT_NAME": "tests",
        "AZURE_STORAGE_ACCOUNT_KEY": secret,
        "AZURE_STORAGE_ENDPOINT": url,
        "AZURE_ALLOW_HTTP": "true",
    }


CHILDREN = []


def main():
    kind, path, *more = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    try:
        environment = {"s3": serve_s3, "gs": serve_gs, "az": serve_az}[kind](data, *more)
        for name, value in environment.items():
            print(f"{name}={value}")
        print(flush=True)
        sys.stdin.read()
    finally:
        for child in CHILDREN:
            child.kill()


main()
