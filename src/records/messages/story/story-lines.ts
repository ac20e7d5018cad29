/** Writes the story of an email as lines of text, for the terminal, for a ticket and for assistants. Times are UTC. Pure. */
import type { AttemptDetails, EmailDetails, RecipientDetails } from '../email-details.js'
import { noFacts } from './story-facts.js'
import { type RecipientStory, type StoryStep, tellStory } from './tell-story.js'

interface LineOptions {
  /** Without them, the story is told from the record alone. */
  readonly stories?: readonly RecipientStory[]
  /** Returns what the reader can do about a recipient that is held. */
  readonly adviseOnHold?: (recipient: RecipientDetails) => string
}

export function storyLines(
  email: EmailDetails,
  { stories = tellStory(email, noFacts), adviseOnHold = () => '' }: LineOptions = {},
): string[] {
  return [
    `${email.id}  ${email.status}`,
    `  from        ${email.from}`,
    `  subject     ${email.subject}`,
    `  message-id  ${email.message_id}`,
    `  accepted    ${email.created_at}`,
    ...(email.scheduled_for === null ? [] : [`  scheduled   ${email.scheduled_for}`]),
    ...(email.tracking.skipped === undefined ? [] : [`  tracking    none: ${email.tracking.skipped}`]),
    ...describeCounts(email),
    ...stories.flatMap((story) => recipientLines(story, adviseOnHold)),
  ]
}

function describeCounts({ recipient_counts: counts, recipients }: EmailDetails): string[] {
  const states = Object.entries(counts).filter(([, count]) => count > 0)
  if (recipients.length < 2 || states.length < 2) return []
  return [`  recipients  ${states.map(([state, count]) => `${count} ${state}`).join(', ')}`]
}

function recipientLines(
  { recipient, steps, next }: RecipientStory,
  adviseOnHold: (one: RecipientDetails) => string,
): string[] {
  const hint = recipient.held ? adviseOnHold(recipient) : ''
  return [
    '',
    `  to ${recipient.email}: ${recipient.status}`,
    ...steps.flatMap(stepLines),
    ...(next === null ? [] : [`    ${next.before}${next.at ?? ''}${next.after}${hint}`]),
  ]
}

/** A step without a time is indented as if it had one. */
const NO_TIME = ' '.repeat('2030-01-31T09:00:00.000Z'.length)

function stepLines({ at, title, sentences, attempt }: StoryStep): string[] {
  const reply = attempt === null ? [] : attemptLines(attempt)
  return [`    ${at ?? NO_TIME}  ${title}`, ...[...reply, ...sentences].map((line) => `      ${line}`)]
}

function attemptLines({ mx, address, tls, duration_ms, reason, outcome, response }: AttemptDetails): string[] {
  const host = mx === null ? 'no host' : `${mx}${address === null ? '' : ` [${address}]`}`
  const security = mx === null ? '' : tls === null ? ' without TLS' : ` over ${tls}`
  const why = reason === null ? '' : ` (${reason})`
  return [`${host}${security}, ${duration_ms} ms`, `${outcome}${why}: ${response}`]
}
