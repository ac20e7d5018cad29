"""Sends with the client of boto3 for Amazon SES, version 2, and prints what it answers and raises as JSON.

Arguments: the URL of the service and the key. The template `welcome` is there.
"""
import json
import sys
from email.message import EmailMessage
from email.utils import formataddr

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

url, key = sys.argv[1:]


def create_client(access_key):
    return boto3.client(
        "sesv2",
        endpoint_url=url,
        region_name="eu-west-1",
        aws_access_key_id=access_key,
        aws_secret_access_key="unused",
        config=Config(retries={"max_attempts": 0}),
    )


client = create_client(key)


def simple(to, **fields):
    content = {
        "Subject": {"Data": "Rechnung für März ☂", "Charset": "UTF-8"},
        "Body": {"Text": {"Data": "Grüße", "Charset": "UTF-8"}, "Html": {"Data": "<p>Grüße</p>"}},
    }
    request = {
        "FromEmailAddress": formataddr(("Grüße, App", "app@a.test")),
        "Destination": {"ToAddresses": [to]},
        "Content": {"Simple": content},
    }
    return {**request, **fields}


def compose():
    message = EmailMessage()
    message["From"] = "App <app@a.test>"
    message["To"] = "Raw <raw@b.test>"
    message["Cc"] = "raw-cc@b.test"
    message["Subject"] = "raw"
    message.set_content("a line\n")
    message.add_attachment(b"99.00", maintype="application", subtype="pdf", filename="Übersicht.pdf")
    return message.as_bytes()


def template(data):
    return {"Template": {"TemplateName": "welcome", "TemplateData": json.dumps(data)}}


def entry(to, data):
    replaced = {"ReplacementTemplate": {"ReplacementTemplateData": json.dumps(data)}}
    return {"Destination": {"ToAddresses": [to]}, "ReplacementEmailContent": replaced}


def describe(work):
    try:
        work()
    except ClientError as error:
        said = error.response["Error"]
        request_id = error.response["ResponseMetadata"].get("RequestId")
        return [type(error).__name__, said["Code"], said["Message"], request_id]
    return ["nothing was raised"]


answers = {
    "simple": client.send_email(
        **simple(
            "Bob <simple@b.test>",
            ReplyToAddresses=["help@a.test"],
            EmailTags=[{"Name": "customer", "Value": "17"}],
            ConfigurationSetName="default",
        )
    ),
    "raw": client.send_email(Content={"Raw": {"Data": compose()}}),
    "template": client.send_email(**simple("template@b.test", Content=template({"name": "One"}))),
    "bulk": client.send_bulk_email(
        FromEmailAddress="app@a.test",
        DefaultContent=template({"name": "you"}),
        BulkEmailEntries=[
            {"Destination": {"ToAddresses": ["bulk@b.test"]}},
            entry("bulk-own@b.test", {"name": "Two"}),
        ],
    ),
}
errors = {
    "key": describe(lambda: create_client("ph_" + "x" * 43).send_email(**simple("bob@b.test"))),
    "sender": describe(lambda: client.send_email(**simple("bob@b.test", FromEmailAddress="app@elsewhere.test"))),
    "recipients": describe(lambda: client.send_email(**simple("bob@b.test", Destination={}))),
    "template": describe(
        lambda: client.send_email(**simple("bob@b.test", Content={"Template": {"TemplateName": "none", "TemplateData": "{}"}}))
    ),
    "operation": describe(client.get_account),
}
print(json.dumps({"answers": answers, "errors": errors}))
