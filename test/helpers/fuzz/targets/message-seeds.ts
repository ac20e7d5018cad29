/** Whole messages to begin with: plain, nested, signed, reports of several kinds. */

const base =
  'From: Ann <ann@a.test>\r\nTo: bob@b.test\r\nSubject: =?utf-8?q?caf=C3=A9?=\r\nDate: Mon, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: <1@a.test>\r\nMIME-Version: 1.0\r\n'

const dsn = `From: MAILER-DAEMON@b.test
To: bounce+abc@mail.a.test
Subject: Undelivered Mail
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

<bob@b.test>: host mx.b.test said: 550 5.1.1 user unknown (in reply to RCPT TO command)

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.b.test
Original-Envelope-Id: abc

Final-Recipient: rfc822; bob@b.test
Original-Recipient: utf-8; b\\x{F6}b@b.test
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 user unknown

--b
Content-Type: message/rfc822

From: ann@a.test
To: bob@b.test
X-Posthorn-Reference: x

hello
--b--
`
const arf = `From: fbl@b.test
Content-Type: multipart/report; report-type=feedback-report; boundary=b

--b
Content-Type: message/feedback-report

Feedback-Type: abuse
User-Agent: fbl/1
Original-Mail-From: <bounce+abc@mail.a.test>
Original-Rcpt-To: bob@b.test
Arrival-Date: Mon, 1 Jan 2026 00:00:00 +0000

--b
Content-Type: text/rfc822-headers

From: ann@a.test
To: bob@b.test
--b--
`
const prose = `From: Mail Delivery Subsystem <mailer-daemon@b.test>
Subject: Delivery Status Notification (Failure)
X-Failed-Recipients: bob@b.test
Auto-Submitted: auto-replied
Content-Type: text/html; charset=utf-8

<p>Your message to <b>bob@b.test</b> could not be delivered.<br>550 5.2.2 mailbox full</p>
`
const ses = `From: no-reply@sns.test
Content-Type: application/json

{"notificationType":"Bounce","bounce":{"bounceType":"Permanent","bouncedRecipients":[{"emailAddress":"bob@b.test","action":"failed","status":"5.1.1"}]},"mail":{"messageId":"1","headers":[{"name":"From","value":"a@b.test"}]}}
`
const signed = `ARC-Seal: i=1; a=rsa-sha256; t=1; cv=none; d=c.test; s=s; b=YQ==
ARC-Message-Signature: i=1; a=rsa-sha256; c=relaxed/relaxed; d=c.test; s=s; h=from:to; bh=YQ==; b=YQ==
ARC-Authentication-Results: i=1; c.test; spf=pass smtp.mailfrom=a.test
Authentication-Results: mx.test (a (b)); dkim=pass header.d=a.test
Received: from a by b with ESMTP id 1 for <bob@b.test>; Mon, 1 Jan 2026 00:00:00 +0000
Return-Path: <x@y.test>
DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/simple; d=a.test; s=dkim1; i=@a.test; t=1; x=99999999999;
 q=dns/txt; h=From:To:Subject; l=3; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=YWJj
From: Ann <ann@a.test>
To: bob@b.test
Subject: signed

x
`
const nested = `Content-Type: multipart/mixed; boundary=o

--o
Content-Type: multipart/alternative; boundary=i

--i
Content-Type: text/plain; charset=iso-8859-1; format=flowed; delsp=yes
Content-Transfer-Encoding: quoted-printable

caf=E9 =
line
--i
Content-Type: text/html; charset="utf-8"

<p>a <a href="https://b.test/?a=1&amp;b">link</a><img src="cid:logo"></p>
--i--
--o
Content-Type: application/pdf; name*0*=utf-8''a%C3%A9; name*1="b.pdf"
Content-Disposition: attachment; filename="=?utf-8?b?w6kucGRm?="
Content-Transfer-Encoding: base64
Content-ID: <logo>

aGVsbG8=
--o
Content-Type: message/rfc822

From: x@y.test

deep
--o
Content-Type: text/calendar; method=REQUEST

BEGIN:VCALENDAR
--o--
`
const withLineEnds = (text: string): string => text.replaceAll('\n', '\r\n')

export const messageSeeds: readonly string[] = [
  `${base}\r\nhello\r\n`,
  `${base}${withLineEnds(nested)}`,
  withLineEnds(dsn),
  withLineEnds(arf),
  withLineEnds(prose),
  withLineEnds(ses),
  withLineEnds(signed),
  `${base}Content-Type: text/html; charset=utf-16\r\nContent-Transfer-Encoding: 8bit\r\n\r\n<html><body><a href='http://b.test'>x</a></body></html>\r\n`,
  'X: y',
]

export const messageWords: readonly string[] = [
  '\r\n',
  '\r\n\r\n',
  '\r\n ',
  '\n',
  '--b\r\n',
  '--b--\r\n',
  'Content-Type: ',
  'Content-Transfer-Encoding: base64\r\n',
  'multipart/mixed; boundary=b',
  'message/rfc822',
  'message/delivery-status',
  'text/html',
  'charset=',
  'boundary="',
  'From: ',
  'To: ',
  'Subject: ',
  'Received: from a by b; x\r\n',
  'Final-Recipient: rfc822; ',
  'Action: failed\r\n',
  'Status: 5.1.1\r\n',
  'Feedback-Type: abuse\r\n',
  'a@b.test',
  '<a@b.test>',
  '=?utf-8?q?=41?=',
  '550 5.1.1 user unknown',
  '"',
  ';',
  ':',
  '(',
  ')',
  'i=1; ',
  'b=',
  'h=from',
  'd=a.test',
  'utf-16le',
  'iso-2022-jp',
]
