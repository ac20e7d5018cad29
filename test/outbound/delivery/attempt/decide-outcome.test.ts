/** From the outcome of an attempt to the decision about its entry, and the notification of the sender. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import {
  type Decision,
  decideOutcome,
  type EntryAge,
} from '../../../../src/outbound/delivery/attempt/decide-outcome.js'
import {
  type ReportedMessage,
  SenderNoticeBuilder,
} from '../../../../src/outbound/delivery/attempt/sender-notice-builder.js'
import type { AttemptOutcome } from '../../../../src/outbound/delivery/smtp/attempt-result.js'
import type { Email } from '../../../../src/records/messages/email/email.js'
import type { AttemptRecord } from '../../../../src/records/messages/queue/settle.js'
import type { ServiceNotice } from '../../../../src/records/messages/service-email.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'

const hour = 3_600_000
const policy = { retry_schedule: [hour, 2 * hour], delay_notice_after: 4 * hour, expire_after: 24 * hour } as const
const fresh: EntryAge = { enqueuedAt: 0, attempts: 1, noticed: false, wasReachedBefore: false }

const accepted: AttemptOutcome = {
  kind: 'accepted',
  final: true,
  reply: { code: 250, enhanced: null, text: 'ok' },
  dsnRelayed: false,
}
const refused: AttemptOutcome = {
  kind: 'refused',
  reason: 'bad-mailbox',
  response: '550 5.1.1 no',
  status: '5.1.1',
  recipientsFault: true,
}
const deferred: AttemptOutcome = { kind: 'deferred', reason: 'greylisted', response: '450 later', reached: true }
const unreached: AttemptOutcome = { ...deferred, reason: 'connection-refused', reached: false }

const table: readonly (readonly [what: string, AttemptOutcome, age: Partial<EntryAge>, now: number, Decision])[] = [
  ['taken', accepted, {}, 0, { kind: 'accepted', final: true, dsnRelayed: false }],
  ['taken by a smarthost', { ...accepted, final: false }, {}, 0, { kind: 'accepted', final: false, dsnRelayed: false }],
  [
    'refused',
    refused,
    {},
    0,
    { kind: 'bounced', hard: true, reason: 'bad-mailbox', status: '5.1.1', recipientsFault: true },
  ],
  [
    'without its domain',
    { ...refused, reason: 'domain-deleted', status: '5.7.1', recipientsFault: false },
    {},
    0,
    { kind: 'failed', reason: 'domain-deleted', status: '5.7.1' },
  ],
  [
    'deferred with a code',
    { ...deferred, status: '4.7.1' },
    {},
    0,
    { kind: 'deferred', at: hour, notice: false, reason: 'greylisted', status: '4.7.1' },
  ],
  [
    'deferred with a time of its own',
    { ...deferred, retry: { after: 30_000 } },
    {},
    hour,
    { kind: 'deferred', at: hour + 30_000, notice: false, reason: 'greylisted', status: '4.0.0' },
  ],
  [
    'deferred for the last time',
    { ...deferred, retry: 'never' },
    {},
    hour,
    { kind: 'bounced', hard: false, reason: 'expired', status: '4.4.7', recipientsFault: false },
  ],
  ['deferred', deferred, {}, 0, { kind: 'deferred', at: hour, notice: false, reason: 'greylisted', status: '4.0.0' }],
  [
    'deferred twice',
    deferred,
    { attempts: 2 },
    hour,
    { kind: 'deferred', at: 3 * hour, notice: false, reason: 'greylisted', status: '4.0.0' },
  ],
  [
    'deferred for long',
    deferred,
    {},
    4 * hour,
    { kind: 'deferred', at: 5 * hour, notice: true, reason: 'greylisted', status: '4.0.0' },
  ],
  [
    'deferred after the notice',
    deferred,
    { noticed: true },
    4 * hour,
    { kind: 'deferred', at: 5 * hour, notice: false, reason: 'greylisted', status: '4.0.0' },
  ],
  [
    'deferred for the last time',
    unreached,
    {},
    24 * hour - 1,
    { kind: 'deferred', at: 24 * hour, notice: true, reason: 'connection-refused', status: '4.0.0' },
  ],
  [
    'too old, and answered now',
    deferred,
    {},
    24 * hour,
    { kind: 'bounced', hard: false, reason: 'expired', status: '4.4.7', recipientsFault: false },
  ],
  [
    'too old, and answered once',
    unreached,
    { wasReachedBefore: true },
    24 * hour,
    { kind: 'bounced', hard: false, reason: 'expired', status: '4.4.7', recipientsFault: false },
  ],
  ['too old, and never answered', unreached, {}, 24 * hour, { kind: 'failed', reason: 'expired', status: '4.4.7' }],
  ['taken though too old', accepted, {}, 99 * hour, { kind: 'accepted', final: true, dsnRelayed: false }],
]

t.test('each outcome has one decision', async (t) => {
  for (const [what, outcome, age, now, decision] of table) {
    t.same(await decideOutcome(outcome, { ...fresh, ...age }, policy, now, 0), decision, what)
  }
})

const notices = new SenderNoticeBuilder({
  hostname: 'mail.test',
  mailFrom: parseAddress('posthorn@mail.test'),
  expireAfter: () => 24 * hour,
})

interface Asked {
  readonly email?: Partial<Email>
  readonly message?: Partial<ReportedMessage['message']>
  readonly response?: string
  readonly mx?: string | null
}

function noticeOf(
  decision: Decision,
  { email, message, response = '550 5.1.1 no', mx = 'mx.b.test' }: Asked = {},
): ServiceNotice | null {
  const queued = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: 0 })
  const [entry] = queued.entries
  if (entry === undefined) throw new Error('no entry')
  const full = { ...queued.email, envelope_from: parseAddress('app@a.test'), ...email }
  const raw = Buffer.from('From: app@a.test\r\n\r\ntext\r\n')
  const attempted: AttemptRecord = {
    entry,
    email: full,
    number: 1,
    at: 0,
    endedAt: hour,
    mx,
    address: null,
    tls: null,
    reached: true,
    response,
    reason: null,
    transcript: '',
  }
  const reported = { recipient: entry.recipient, notify: null, orcpt: null, ...message }
  return notices.build({ email: full, readRaw: () => raw, message: reported }, attempted, decision, hour)
}

const bounced: Decision = { kind: 'bounced', hard: true, reason: 'bad-mailbox', status: '5.1.1', recipientsFault: true }
const failed: Decision = { kind: 'failed', reason: 'expired', status: '4.4.7' }
const late = { kind: 'deferred', at: 2 * hour, notice: true, reason: 'greylisted', status: '4.7.1' } as const
const delivered: Decision = { kind: 'accepted', final: true, dsnRelayed: false }

t.test('the sender is notified of some outcomes', async (t) => {
  const cases: readonly (readonly [what: string, Decision, Asked, boolean])[] = [
    ['a bounce', bounced, {}, true],
    ['a failure', failed, {}, true],
    ['a long delay', late, {}, true],
    ['a short delay', { ...late, notice: false }, {}, false],
    ['a success that was not requested', delivered, {}, false],
    ['a success that was requested', delivered, { message: { notify: ['success'] } }, true],
    [
      'one that the next server reports',
      { ...delivered, dsnRelayed: true },
      { message: { notify: ['success'] } },
      false,
    ],
    ['a bounce to the null sender', bounced, { email: { envelope_from: '' } }, false],
    ['a bounce of a report', bounced, { email: { source: 'service' } }, false],
    ['a bounce of a REST client', bounced, { email: { source: 'rest' } }, false],
    ['a bounce with NOTIFY=NEVER', bounced, { message: { notify: ['never'] } }, false],
    ['a bounce with NOTIFY=DELAY', bounced, { message: { notify: ['delay'] } }, false],
    ['a delay with NOTIFY=FAILURE', late, { message: { notify: ['failure'] } }, false],
    ['a delay with NOTIFY=FAILURE,DELAY', late, { message: { notify: ['failure', 'delay'] } }, true],
  ]
  for (const [what, decision, asked, expected] of cases) t.equal(noticeOf(decision, asked) !== null, expected, what)
})

t.test('the report is mail of the service to the envelope sender, from the null sender', async (t) => {
  const notice = noticeOf(bounced)
  t.match(notice?.enqueued.email, {
    workspace_id: 'service',
    source: 'service',
    envelope_from: '',
    to_emails: '["app@a.test"]',
  })
  t.match(notice?.enqueued.entries, [{ recipient: 'app@a.test', domain: 'a.test' }])
  t.match(notice?.raw.toString(), /Remote-MTA: dns; mx\.b\.test\r\nDiagnostic-Code: smtp; 550 5\.1\.1 no\r\n/)
  const events = notice?.enqueued.writes.filter(({ sql }) => sql.includes('"events"'))
  t.same(events, [], 'and there is no event')
})

t.test('our own text is not reported as the reply of a server', async (t) => {
  const ours = noticeOf(failed, { response: 'mx.b.test [192.0.2.1]:25: connection refused while connecting' })
  t.match(ours?.raw.toString(), /Diagnostic-Code: x-posthorn; mx\.b\.test/)
  t.notMatch(ours?.raw.toString(), /Remote-MTA|answered:/)
})
