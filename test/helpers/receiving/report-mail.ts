/** Reports as messages: built from lines, parsed, summarized. */
import { readReport } from '../../../src/inbound/receiving/reports/read-report.js'
import type { Bounce, Report } from '../../../src/inbound/receiving/reports/report.js'

export const returnedHeader = [
  'Return-Path: <bounce+k3y@mail.app.test>',
  'From: Shop <shop@app.test>',
  'To: lena@mill.test',
  'Message-ID: <42@app.test>',
  'Subject: Your order',
]

export function readMail(header: readonly string[], body: readonly string[]): Report {
  return readReport(Buffer.from([...header, '', ...body, ''].join('\r\n')))
}

/** A multipart/report of the given parts. */
export function readMultipart(
  parts: readonly (readonly [type: string, ...lines: readonly string[]])[],
  type = 'multipart/report',
): Report {
  const header = [
    'From: MAILER-DAEMON@relay.test',
    'Subject: Returned mail',
    `Content-Type: ${type}; boundary="frontier"`,
  ]
  const body = parts.flatMap(([contentType, ...lines]) => ['--frontier', `Content-Type: ${contentType}`, '', ...lines])
  return readMail(header, [...body, '--frontier--'])
}

export function bouncesOf(report: Report): readonly Bounce[] {
  return report.type === 'bounce' ? report.bounces : []
}

/** The first bounce as `recipient kind reason status`. */
export function summarizeBounce(report: Report): string {
  const [first] = bouncesOf(report)
  if (first === undefined) return report.type
  return `${first.recipient} ${first.kind} ${first.reason} ${first.status ?? '-'}`
}
