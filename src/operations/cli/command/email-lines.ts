/** The history of an email as lines for people. */
import type { AttemptDetails, EmailDetails, RecipientDetails } from '../../../records/messages/email-details.js'
import { describeLaterReport, describeNext } from '../../../records/messages/email-story.js'

export function emailLines(story: EmailDetails): string[] {
  return [
    `${story.id}  ${story.status}`,
    `  from        ${story.from}`,
    `  subject     ${story.subject}`,
    `  message-id  ${story.message_id}`,
    `  accepted    ${story.created_at}`,
    ...(story.scheduled_for === null ? [] : [`  scheduled   ${story.scheduled_for}`]),
    ...(story.tracking.skipped === undefined ? [] : [`  tracking    none: ${story.tracking.skipped}`]),
    ...story.recipients.flatMap(recipientLines),
  ]
}

function recipientLines(recipient: RecipientDetails): string[] {
  return [
    '',
    `  to ${recipient.email}: ${recipient.status}`,
    ...recipient.attempts.flatMap(attemptLines),
    ...laterLine(recipient),
    ...nextLine(recipient),
  ]
}

function attemptLines(attempt: AttemptDetails): string[] {
  const host =
    attempt.mx === null ? 'no host' : `${attempt.mx}${attempt.address === null ? '' : ` [${attempt.address}]`}`
  const tls = attempt.mx === null ? '' : attempt.tls === null ? ' without TLS' : ` over ${attempt.tls}`
  const reason = attempt.reason === null ? '' : ` (${attempt.reason})`
  return [
    `    ${attempt.number}. ${attempt.at}  ${host}${tls}, ${attempt.duration_ms} ms`,
    `       ${attempt.outcome}${reason}: ${attempt.response}`,
  ]
}

function laterLine(recipient: RecipientDetails): string[] {
  const report = describeLaterReport(recipient)
  return report === null ? [] : [`    ${report}`]
}

function nextLine(recipient: RecipientDetails): string[] {
  const next = describeNext(recipient)
  if (next === null) return []
  const command = recipient.held_by === 'rule' ? 'queue rules remove' : 'queue release'
  const release = recipient.held ? `: "posthorn ${command}" lets it go on` : ''
  return [`    ${next.before}${next.at ?? ''}${next.after}${release}`]
}
