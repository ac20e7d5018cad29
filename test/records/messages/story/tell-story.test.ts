/** The steps of a recipient, in each state that it can have. */
import t from 'tap'
import type { AttemptDetails, EmailDetails, RecipientDetails } from '../../../../src/records/messages/email-details.js'
import { noFacts, type StoryEvent, type StoryFacts } from '../../../../src/records/messages/story/story-facts.js'
import { tellStory } from '../../../../src/records/messages/story/tell-story.js'

const time = (minute: number): string => `2030-01-31T09:0${minute}:00.000Z`

const attempt: AttemptDetails = {
  ...{ number: 1, at: time(1), duration_ms: 5, mx: 'mx.b.test', address: null, tls: null, next_attempt_at: null },
  ...{ outcome: 'delivered', reason: null, response: '250 ok' },
}

function emailWith(...recipients: readonly Partial<RecipientDetails>[]): EmailDetails {
  const counts = { queued: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, suppressed: 0, cancelled: 0, complained: 0 }
  return {
    ...{ id: 'em', message_id: '<em@a.test>', from: 'app@a.test', to: ['bob@b.test'], cc: [], bcc: [], reply_to: [] },
    ...{ subject: 's', tags: [], tracking: { open: false, click: false }, priority: 'normal', template_id: null },
    ...{ status: 'queued', recipient_counts: counts, created_at: time(0), scheduled_for: null, sent_at: null },
    ...{ delivered_at: null, opened_at: null, clicked_at: null, bounced_at: null },
    recipients: recipients.map((more, place) => ({
      ...{ id: `r${place}`, email: 'Bob@b.test', status: 'queued', attempts: [], last_response: null, reason: null },
      ...{ mx: null, next_attempt_at: null, waits_for: null, held: false, held_by: null, delivered_at: null },
      ...{ transcript: null, ...more },
    })),
  }
}

const event = (type: StoryEvent['type'], minute: number, data: StoryEvent['data'] = {}): StoryEvent => ({
  ...{ type, recipient: 'bob@b.test', at: time(minute), data },
})

const entry = { id: 'sup', email: 'bob@b.test', reason: 'hard_bounce', emailId: 'em', at: time(2) } as const
const withEntry = (more: Partial<typeof entry> | { readonly emailId: null } = {}): StoryFacts => ({
  events: [],
  suppressions: new Map([['bob@b.test', { ...entry, ...more }]]),
  removals: new Map(),
})
const unlisted = (...events: readonly StoryEvent[]): StoryFacts => ({
  ...{ events, suppressions: new Map(), removals: new Map() },
})

/** Each step as one line: its title, and its sentences. */
function linesOf(email: EmailDetails, facts: StoryFacts): readonly string[] {
  return tellStory(email, facts).flatMap(({ steps }) =>
    steps.map(({ title, sentences }) => [title, ...sentences].join(' | ')),
  )
}

const ACCEPTED =
  'Accepted | Posthorn accepted the email from app@a.test. | The address was not on the suppression list, so the email was queued.'

t.test('a bounce has its reason, what to do, and its consequence, with the entry that it has made', async (t) => {
  const refused = { ...attempt, outcome: 'bounced', reason: 'bad-mailbox', response: '550 no' } as const
  const email = emailWith({ status: 'bounced', reason: 'bad-mailbox', last_response: '550 no', attempts: [refused] })
  t.same(linesOf(email, withEntry()), [
    ACCEPTED,
    'Attempt 1: bounced | The mailbox does not exist. | Ask the recipient for the right address. | Posthorn does not try again.',
    'This address is now suppressed | It is on the suppression list because mail to it bounced permanently. No further email is sent to it.',
  ])
  t.equal(tellStory(email, withEntry())[0]?.steps.at(-1)?.suppression, 'sup')
  t.match(linesOf(email, withEntry({ emailId: null })).at(-1), /^This address is suppressed .* was not the cause\.$/)
  t.match(linesOf(email, unlisted()).at(-1), /^Not suppressed \| .* later email is sent to it\.$/)
  t.equal(linesOf(email, noFacts).length, 2, 'where the list is not known, nothing is said about it')
})

t.test('an entry that was removed again is told with its time', async (t) => {
  const refused = { ...attempt, outcome: 'bounced', reason: 'bad-mailbox', response: '550 no' } as const
  const bounced = emailWith({ status: 'bounced', reason: 'bad-mailbox', last_response: '550 no', attempts: [refused] })
  const removed = (minute: number): StoryFacts => ({
    ...unlisted(),
    removals: new Map([['bob@b.test', { reason: 'hard_bounce', at: time(minute) }]]),
  })
  t.same(linesOf(bounced, removed(5)).slice(2), [
    'This address was suppressed | It came onto the suppression list because mail to it bounced permanently.',
    'The address was taken off the suppression list | Later email is sent to it. This email is not sent again by itself.',
  ])
  t.match(tellStory(bounced, removed(5))[0]?.steps.at(-1), { kind: 'unsuppressed', at: time(5), suppression: null })
  const left = emailWith({ status: 'suppressed' })
  t.match(linesOf(left, removed(5)), [
    /^Accepted/,
    /^Not sent, because the address was suppressed \|.*It is no longer on the list/,
    /^The address was taken off/,
  ])
  const later = { ...bounced, created_at: time(6) }
  t.ok(
    linesOf(later, removed(5)).some((line) => line.startsWith('Not suppressed')),
    'a removal before the email is not its consequence',
  )
  t.equal(
    linesOf(bounced, { ...withEntry(), removals: removed(5).removals }).length,
    3,
    'an address that is listed again',
  )
})

t.test('an address that was suppressed before', async (t) => {
  const email = emailWith({ status: 'suppressed' })
  const suppressed = event('email.suppressed', 0, { reason: 'unsubscribe' })
  t.match(linesOf(email, { ...withEntry({ emailId: null }), events: [suppressed] }), [
    'Accepted | Posthorn accepted the email from app@a.test.',
    'Not sent, because the address is suppressed | The address is on the suppression list because mail to it bounced permanently.',
  ])
  t.match(
    linesOf(email, unlisted(suppressed)).at(-1),
    / because its owner unsubscribed\. \| It is no longer on the list/,
  )
  t.match(linesOf(email, noFacts).at(-1), /\| The address was on the suppression list\.$/)
})

t.test('attempts that are tried again, and the end of a message that no attempt has ended', async (t) => {
  const later = { ...attempt, outcome: 'deferred', reason: 'greylisted', response: '450 later' } as const
  t.match(linesOf(emailWith({ attempts: [later], next_attempt_at: time(5) }), unlisted()), [
    ACCEPTED,
    /^Attempt 1: deferred \| .*\(greylisting\)\. \| Posthorn tries again later\.$/,
  ])
  const ended = emailWith({ status: 'failed', reason: 'operator', attempts: [later], last_response: '450 later' })
  t.match(
    linesOf(ended, unlisted(event('email.failed', 3))).at(-1),
    'Failed | The operator removed the message from the queue.',
  )
  const expired = emailWith({ status: 'bounced', reason: 'expired', attempts: [later] })
  t.match(linesOf(expired, unlisted())[2], /^Bounced \| Every attempt failed/)
  const never = emailWith({ status: 'failed', reason: 'dns', last_response: 'no such domain' })
  t.equal(linesOf(never, unlisted()).at(-1), 'Failed | no such domain | DNS gave no answer.')
  t.match(linesOf(emailWith({ status: 'suppressed', attempts: [later] }), withEntry()), {
    2: /^Suppressed \|/,
    3: /^This/,
  })
  t.match(linesOf(emailWith({ status: 'cancelled' }), unlisted()).at(-1), /^Cancelled \|/)
  const scheduled = { ...emailWith({ status: 'scheduled' }), scheduled_for: time(9) }
  t.match(linesOf(scheduled, unlisted())[0], /was to wait for the time that its sender has set\.$/)
})

t.test('readers and late reports are told in the order of time', async (t) => {
  const email = emailWith({
    ...{ status: 'bounced', reason: 'mailbox-full', last_response: '552 full', delivered_at: time(1) },
    attempts: [attempt, { ...attempt, number: 2, at: time(2), outcome: 'sent' }],
  })
  const events = [
    event('email.bounced', 6),
    event('email.opened', 4),
    event('email.opened', 5),
    event('email.opened', 3, { machine: true }),
    event('email.clicked', 5, { link: 'https://a.test/x' }),
    event('email.complained', 7),
    event('email.unsubscribed', 8),
    { ...event('email.opened', 1), recipient: 'another@b.test' },
  ]
  t.match(linesOf(email, unlisted(...events)), [
    ACCEPTED,
    /^Attempt 1: delivered \| The server of the recipient accepted the email\./,
    'Attempt 2: passed on | The next server accepted the email and delivers it further.',
    /^Loaded by a program \| A program/,
    `Opened | 2 times, the last time at ${time(5)}.`,
    'Clicked | https://a.test/x',
    /^Reported later, now bounced \(mailbox-full\): 552 full \| The mailbox is full\. \| Send it again later/,
    'Reported as spam | The recipient reported the email as spam.',
    'Unsubscribed | The recipient wants no more such email.',
    /^Not suppressed/,
  ])
})

t.test('an open of a message that several recipients have is told with that doubt', async (t) => {
  const email = emailWith(
    { status: 'delivered', attempts: [attempt], last_response: '250 ok' },
    { email: 'eve@b.test', status: 'delivered' },
  )
  t.match(linesOf(email, unlisted(event('email.opened', 4)))[2], /^Opened \| All recipients got the same message/)
})
