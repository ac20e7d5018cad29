/** Reports about our mail as other servers send them: a delivery status notification, a complaint. */

export function dsn({
  path,
  status,
  action = 'failed',
  recipient = 'bob@b.test',
  diagnostic = 'smtp; 550 5.1.1 no such user',
}: {
  readonly path: string
  readonly status: string
  readonly action?: string
  readonly recipient?: string
  readonly diagnostic?: string
}): string {
  return [
    'From: Mail Delivery <mailer-daemon@b.test>',
    `To: ${path}`,
    'Subject: Undelivered Mail',
    'MIME-Version: 1.0',
    'Auto-Submitted: auto-replied',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain',
    '',
    'Your message could not be delivered.',
    '--x',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.b.test',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: ${diagnostic}`,
    '--x--',
    '',
  ].join('\r\n')
}

export function complaint(original: string): string {
  const header = original.slice(0, original.indexOf('\r\n\r\n'))
  return [
    'From: abuse@b.test',
    'To: fbl@mail.service.test',
    'Subject: complaint',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain',
    '',
    'A user complained.',
    '--x',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'User-Agent: Test/1',
    'Version: 1',
    '--x',
    'Content-Type: text/rfc822-headers',
    '',
    header,
    '--x--',
    '',
  ].join('\r\n')
}
