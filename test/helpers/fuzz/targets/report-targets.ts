/** Bounces, complaints and replies: what others report about our mail. */

import { tryParseIncomingAddress } from '../../../../src/base/mail/address.js'
import type { Reply } from '../../../../src/base/mail/reply.js'
import { readReport } from '../../../../src/inbound/receiving/reports/read-report.js'
import { parseCapabilities } from '../../../../src/outbound/delivery/smtp/capabilities.js'
import { ReplyParser } from '../../../../src/outbound/delivery/smtp/reply-parser.js'
import { classifyReply } from '../../../../src/records/messages/replies/classify-reply.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'

const MAX_RECIPIENTS = 100

function readReports(input: Buffer): void {
  const report = readReport(input)
  checkEqual(readReport(input), report, 'the same report gives the same result')
  if (report.type === 'bounce') {
    check(report.bounces.length > 0 && report.bounces.length <= MAX_RECIPIENTS, 'a bounce has 1 to 100 recipients')
    for (const { recipient, original, kind, status, diagnostic, reason, recipientsFault } of report.bounces) {
      for (const address of [recipient, original])
        check(address === null || tryParseIncomingAddress(address) === address, 'a recipient is an address')
      check(
        !/[\r\n]/.test(diagnostic) && diagnostic.length <= 1_000,
        'a diagnostic is one line of at most 1,000 characters',
      )
      check(status === null || /^[245]\.\d{1,3}\.\d{1,3}$/.test(status), 'a status is an enhanced code')
      check(kind !== 'delivered' || reason === null, 'a delivery has no reason')
      check(!recipientsFault || kind === 'permanent', 'only a permanent bounce suppresses')
    }
  }
  if (report.type === 'complaint') {
    check(report.recipients.length <= MAX_RECIPIENTS, 'a complaint has at most 100 recipients')
    check(/^[a-z][\w-]*$/.test(report.feedbackType), 'a feedback type is a word')
  }
}

/** However the bytes are cut into chunks, the replies are the same. */
function readReplies(input: Buffer): void {
  const whole = new ReplyParser().feed(input)
  const parser = new ReplyParser()
  const pieces: ReturnType<ReplyParser['feed']>[number][] = []
  const step = 1 + ((input[0] ?? 0) % 7)
  for (let at = 0; at < input.length; at += step) pieces.push(...parser.feed(input.subarray(at, at + step)))
  const [one, other] = [whole, pieces].map((results) => results.filter((result) => result.kind === 'reply'))
  checkEqual(other, one, 'chunks change no reply')
  for (const result of whole) if (result.kind === 'reply') checkReply(result.reply, result.lines)
}

function checkReply(reply: Reply, lines: readonly string[]): void {
  check(reply.code >= 200 && reply.code < 600, 'a code has three digits')
  check(!/[\p{Cc}\p{Cs}]/u.test(reply.text), 'the text of a reply is printable')
  check(
    reply.enhanced === null || reply.enhanced.startsWith(String(reply.code).charAt(0)),
    'an enhanced code fits its reply',
  )
  parseCapabilities([...lines])
  for (const stage of ['banner', 'mail', 'rcpt', 'data', 'message'] as const) {
    const meaning = classifyReply(stage, reply)
    checkEqual(classifyReply(stage, reply), meaning, 'the same reply has the same meaning')
    const isAboutPace = classifyReply(stage, reply).pace !== null
    check(
      !isAboutPace || reply.code < 500 || stage === 'banner' || stage === 'mail',
      'a final reply is about the message',
    )
  }
}

export const reportTargets: readonly FuzzTarget[] = [
  {
    name: 'reports',
    checks: 'recipients are addresses; one-line diagnostics; only permanent bounces suppress',
    seeds: messageSeeds,
    words: messageWords,
    run: readReports,
  },
  {
    name: 'smtp-replies',
    checks: 'chunks change nothing; printable; same reply, same meaning',
    seeds: [
      '250-mx.test\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250-AUTH PLAIN LOGIN\r\n250 STARTTLS\r\n',
      '550 5.1.1 <bob@b.test>: user unknown\r\n',
      '421 4.7.0 try again later\n',
      '452-4.2.2 The email account\r\n452 4.2.2 is over quota. https://support.test/?p=1\r\n',
    ],
    words: [
      '250-',
      '250 ',
      '550 5.7.1 ',
      '\r\n',
      '\n',
      '421 ',
      '354 ',
      'SIZE ',
      'mailbox full',
      'user unknown',
      'blocked',
      'spam',
      'greylist',
      '\u0000',
      '5.1.1',
    ],
    run: readReplies,
  },
]
