/** The story of an email, for people. */
import type { AttemptStory, EmailStory, RecipientStory } from '../messages/email-story.js'

export function emailLines(story: EmailStory): string[] {
  return [
    `${story.id}  ${story.status}`,
    `  from        ${story.from}`,
    `  subject     ${story.subject}`,
    `  message-id  ${story.message_id}`,
    `  accepted    ${story.created_at}`,
    ...(story.scheduled_for === null ? [] : [`  scheduled   ${story.scheduled_for}`]),
    ...story.recipients.flatMap(recipientLines),
  ]
}

function recipientLines(recipient: RecipientStory): string[] {
  return [
    '',
    `  to ${recipient.email}: ${recipient.status}`,
    ...recipient.attempts.flatMap(attemptLines),
    ...nextLine(recipient),
  ]
}

function attemptLines(attempt: AttemptStory): string[] {
  const host =
    attempt.mx === null ? 'no host' : `${attempt.mx}${attempt.address === null ? '' : ` [${attempt.address}]`}`
  const tls = attempt.mx === null ? '' : ` over ${attempt.tls ?? 'plain text'}`
  const reason = attempt.reason === null ? '' : ` (${attempt.reason})`
  return [
    `    ${attempt.number}. ${attempt.at}  ${host}${tls}, ${attempt.duration_ms} ms`,
    `       ${attempt.outcome}${reason}: ${attempt.response}`,
  ]
}

function nextLine({ held, status, next_attempt_at }: RecipientStory): string[] {
  if (held) return ['    held: "posthorn queue release" lets it go on']
  if (next_attempt_at === null || (status !== 'queued' && status !== 'scheduled')) return []
  return [`    next attempt ${next_attempt_at}`]
}
