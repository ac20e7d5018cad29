/** Reports as messages: written from lines, read, shown in short. */
import { readReport } from '../../../src/receiving/reports/read-report.js'
import type { Bounce, Report } from '../../../src/receiving/reports/report.js'

export const returned = [
  'Return-Path: <bounce+k3y@mail.app.test>',
  'From: Shop <shop@app.test>',
  'To: lena@mill.test',
  'Message-ID: <42@app.test>',
  'Subject: Your order',
]

export function mail(header: readonly string[], body: readonly string[]): Report {
  return readReport(Buffer.from([...header, '', ...body, ''].join('\r\n')))
}

/** multipart/report out of `type` and lines. */
export function multipart(
  parts: readonly (readonly [type: string, ...lines: readonly string[]])[],
  type = 'multipart/report',
): Report {
  const header = [
    'From: MAILER-DAEMON@relay.test',
    'Subject: Returned mail',
    `Content-Type: ${type}; boundary="frontier"`,
  ]
  const body = parts.flatMap(([contentType, ...lines]) => ['--frontier', `Content-Type: ${contentType}`, '', ...lines])
  return mail(header, [...body, '--frontier--'])
}

export function bouncesOf(report: Report): readonly Bounce[] {
  return report.type === 'bounce' ? report.bounces : []
}

/** The first bounce as `recipient kind reason status`. */
export function brief(report: Report): string {
  const [first] = bouncesOf(report)
  if (first === undefined) return report.type
  return `${first.recipient} ${first.kind} ${first.reason} ${first.status ?? '-'}`
}
