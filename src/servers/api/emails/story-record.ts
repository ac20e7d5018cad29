/** The story of an email as it is shown over HTTP: its record, and what happened to each recipient, step by step. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type EmailDetails, readEmailDetails } from '../../../records/messages/email-details.js'
import { requireVisibleEmail, type Viewer } from '../../../records/messages/email-resource.js'
import { readStoryFacts } from '../../../records/messages/story/story-facts.js'
import { storyLines } from '../../../records/messages/story/story-lines.js'
import { type RecipientStory, type StoryStep, tellStory } from '../../../records/messages/story/tell-story.js'
import { notFound, timestamp } from '../http/input/values.js'
import { attempt, emailFields, recipientStatus } from './email-record.js'

const timedText = z
  .strictObject({
    before: z.string().meta({ example: 'next attempt ' }),
    at: timestamp.nullable(),
    after: z.string().meta({ example: '' }),
  })
  .meta({ id: 'TimedText', description: 'A sentence: `before`, the moment `at`, `after`.' })

const kinds = [
  'accepted',
  'not-sent',
  'attempt',
  'report',
  'ended',
  'opened',
  'clicked',
  'complained',
  'unsubscribed',
  'suppressed',
  'unsuppressed',
] as const satisfies readonly StoryStep['kind'][]

const step = z
  .object({
    kind: z.enum(kinds).meta({ example: 'attempt' }),
    at: timestamp.nullable().meta({ description: 'Null if the time is not known.' }),
    title: z.string().meta({ example: 'Attempt 1: bounced' }),
    sentences: z.array(z.string()).meta({ example: ['The mailbox does not exist.', 'Posthorn does not try again.'] }),
    attempt: attempt.nullable().meta({ description: 'Only steps of the kind `attempt` have it.' }),
    suppression_id: z
      .string()
      .nullable()
      .meta({ example: null, description: 'The entry of the suppression list that the step tells of.' }),
  })
  .meta({ id: 'StoryStep' })

const recipientFields = {
  id: z.string(),
  email: z.string(),
  status: recipientStatus,
  reason: z.string().nullable().meta({ example: null }),
  delivered_at: timestamp.nullable(),
  steps: z.array(step).meta({ description: 'In the order of time.' }),
  next: timedText.nullable().meta({ description: 'What comes next; null: nothing.' }),
  held_by: z.enum(['operator', 'workspace', 'rule']).nullable().meta({ example: null }),
  can: z.array(z.enum(['hold', 'release', 'retry'])).meta({
    description: 'What members may do with it now, in the dashboard.',
    example: ['hold', 'retry'],
  }),
}

const { html: _html, text: _text, headers: _headers, attachments: _files, recipients: _list, ...facts } = emailFields

const storyFields = {
  ...facts,
  text: z.string().meta({ description: 'The same as lines of text, with times in UTC.', example: '01a1…  delivered' }),
}

const recipientStory = z.object(recipientFields).meta({ id: 'RecipientStory' })
export const emailStory = z.object({ ...storyFields, recipients: z.array(recipientStory) }).meta({ id: 'EmailStory' })

interface ReadStory {
  readonly details: EmailDetails
  readonly recipients: readonly RecipientStory[]
  readonly text: string
}

/** `viewer`: one who may only see emails of its own key does not see the suppression list either. */
export async function readStory(read: Read, viewer: Viewer, id: string): Promise<ReadStory> {
  const { workspace_id: workspaceId } = await requireVisibleEmail(read, viewer, id)
  const found = await readEmailDetails(read, { workspaceId, id })
  if (found === null) throw notFound('email-not-found', 'email', id)
  const details = withoutAddresses(found)
  const facts = await readStoryFacts(read, workspaceId, details)
  const stories = tellStory(details, viewer.ownKey === null ? facts : { ...facts, suppressions: null })
  return { details, recipients: stories, text: storyLines(details, { stories }).join('\n') }
}

/** The addresses that the service has dialled say more about its network than about the email. */
function withoutAddresses(details: EmailDetails): EmailDetails {
  const recipients = details.recipients.map((recipient) => ({
    ...recipient,
    attempts: recipient.attempts.map((attempt) => ({ ...attempt, address: null })),
  }))
  return { ...details, recipients }
}

export function toEmailFacts({ details, text }: ReadStory): Omit<z.output<typeof emailStory>, 'recipients'> {
  const { recipients: _recipients, ...email } = details
  const lists = { to: [...email.to], cc: [...email.cc], bcc: [...email.bcc], reply_to: [...email.reply_to] }
  return { ...email, ...lists, tags: [...email.tags], text }
}

export function toRecipient(story: RecipientStory): z.output<typeof recipientStory> {
  const { recipient, steps, next } = story
  const { id, email, status, reason, delivered_at, held_by } = recipient
  return { id, email, status, reason, delivered_at, held_by, can: listActs(story), next, steps: steps.map(toStep) }
}

/** An entry that is being attempted, or that waits for a paused broadcast, has no time. */
function listActs({
  recipient: { status, held_by, next_attempt_at },
}: RecipientStory): ('hold' | 'release' | 'retry')[] {
  if (held_by === 'operator' || held_by === 'rule' || next_attempt_at === null) return []
  const hold = held_by === 'workspace' ? ('release' as const) : ('hold' as const)
  return status === 'scheduled' ? [hold] : [hold, 'retry']
}

function toStep({ attempt: one, suppression, sentences, ...others }: StoryStep): z.output<typeof step> {
  if (one === null) return { ...others, sentences: [...sentences], attempt: null, suppression_id: suppression }
  const { address: _dialled, ...attempted } = one
  return { ...others, sentences: [...sentences], attempt: attempted, suppression_id: suppression }
}
