/** The history of an email as lines for people. */
import type { AttemptDetails, EmailDetails, RecipientDetails } from '../messages/email-details.js'

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

/** What a report said after the last attempt had delivered the message to a server. */
function laterLine({ attempts, status, reason, last_response }: RecipientDetails): string[] {
  const last = attempts.at(-1)
  if (last === undefined || (last.outcome !== 'sent' && last.outcome !== 'delivered')) return []
  if (status === last.outcome && last_response === last.response) return []
  const now = status === last.outcome ? '' : `, now ${status}`
  const why = reason === null ? '' : ` (${reason})`
  const words = last_response === last.response ? '' : `: ${last_response ?? ''}`
  return [`    reported later${now}${why}${words}`]
}

function nextLine({ held, status, attempts, next_attempt_at, waits_for }: RecipientDetails): string[] {
  if (held) return ['    held: "posthorn queue release" lets it go on']
  if (status !== 'queued' && status !== 'scheduled') return []
  if (next_attempt_at === null) return [waits_for === null ? '    being attempted now' : `    waits for ${waits_for}`]
  if (waits_for !== null) {
    return [`    waits for ${waits_for}, which is not called before ${next_attempt_at}; no attempt is counted`]
  }
  const which = attempts.length === 0 ? 'first' : 'next'
  return [`    ${which} attempt ${next_attempt_at}`]
}
