/** Header fields by which an app steers the service. */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../src/base/mail/refusal.js'
import type { HeaderOptions } from '../../../src/outbound/sending/dialect-fields.js'
import { isServiceField, readServiceFields } from '../../../src/outbound/sending/service-headers.js'

const now = Date.UTC(2026, 10, 21)

const none: HeaderOptions = {
  trackOpens: null,
  trackClicks: null,
  tags: [],
  priority: 'normal',
  scheduledFor: null,
  idempotencyKey: null,
}

const read = (...fields: readonly (readonly [name: string, value: string])[]): HeaderOptions =>
  readServiceFields(
    fields.map(([name, value]) => ({ name, value })),
    now,
  )

t.test('our fields and their dialects', async (t) => {
  t.same(read(), none)
  t.same(
    read(
      ['x-service-track-opens', 'True'],
      ['x-service-track-clicks', 'FALSE'],
      ['x-service-tag', 'a=b=c'],
      ['x-service-tag', ' a = d '],
      ['x-service-priority', 'Low'],
      ['x-service-scheduled-for', '2026-12-01T09:00:00Z'],
      ['x-service-idempotency-key', 'k'],
    ),
    {
      trackOpens: true,
      trackClicks: false,
      tags: [
        { name: 'a', value: 'b=c' },
        { name: 'a', value: 'd' },
      ],
      priority: 'low',
      scheduledFor: Date.UTC(2026, 11, 1, 9),
      idempotencyKey: 'k',
    },
  )
  t.same(read(['x-pm-tag', 'welcome'], ['x-pm-trackopens', 'true']), {
    ...none,
    trackOpens: true,
    tags: [{ name: 'tag', value: 'welcome' }],
  })
  t.same(read(['x-mailgun-tag', 'a'], ['x-mailgun-tag', 'b'], ['x-mailgun-track-clicks', 'htmlonly']).trackClicks, true)
  t.same(read(['x-mailgun-track-opens', 'no']).trackOpens, false)
  t.same(read(['x-ses-message-tags', 'a=1, b = 2=3 ,c,=d,e=']).tags, [
    { name: 'a', value: '1' },
    { name: 'b', value: '2=3' },
  ])
  t.same(read(['x-pm-trackopens', 'true'], ['x-service-track-opens', 'false']).trackOpens, false, 'ours wins')
  const many = Array.from({ length: 25 }, (_, n) => ['x-mailgun-tag', `t${n}`] as const)
  t.equal(read(...many).tags.length, 20, 'a dialect refuses nothing')
})

t.test('fields of other services are removed, and read as what they mean there', async (t) => {
  const tag = (value: string, name = 'tag'): { name: string; value: string } => ({ name, value })
  const nine = Date.UTC(2026, 11, 1, 9)
  const table: readonly (readonly [name: string, value: string, Partial<HeaderOptions>])[] = [
    ['x-mailgun-drop-message', 'yes', { dropped: true }],
    ['x-mailgun-drop-message', 'True', { dropped: true }],
    ['x-mailgun-drop-message', 'no', { dropped: false }],
    ['ahasend-sandbox', 'true', { dropped: true }],
    ['x-sib-sandbox', 'drop', { dropped: true }],
    ['x-msys-subaccount', '12', {}],
    ['x-mailpace-tags', 'a, b', { tags: [tag('a'), tag('b')] }],
    ['x-xsmessageid', '7', {}],
    ['resend-idempotency-key', 'order-1', { idempotencyKey: 'order-1' }],
    ['x-mailgun-deliver-by', 'Tue, 01 Dec 2026 09:00:00 GMT', { scheduledFor: nine }],
    ['x-mc-sendat', '2026-12-01 09:00:00', { scheduledFor: nine }],
    ['x-mailgun-track', 'yes', { trackOpens: true, trackClicks: true }],
    ['x-mailgun-variables', '{"order": 7, "deep": {}}', { tags: [tag('7', 'order')] }],
    ['x-pm-tracklinks', 'HtmlAndText', { trackClicks: true }],
    ['x-pm-tracklinks', 'None', { trackClicks: false }],
    ['x-pm-metadata-order', '7', { tags: [tag('7', 'order')] }],
    ['x-pm-message-stream', 'outbound', {}],
    ['x-ses-configuration-set', 'main', {}],
    ['x-mc-tags', 'a, b', { tags: [tag('a'), tag('b')] }],
    ['x-mc-track', 'opens,clicks_all', { trackOpens: true, trackClicks: true }],
    ['x-mc-track', 'none', { trackOpens: false, trackClicks: false }],
    ['x-mc-preserverecipients', 'true', {}],
    ['x-mj-customid', 'c', { tags: [tag('c')] }],
    ['x-mailjet-trackopen', '0', { trackOpens: false }],
    ['x-mailin-tag', 'a', { tags: [tag('a')] }],
    ['x-mt-category', 'a', { tags: [tag('a')] }],
    ['x-mailin-custom', 'order:7|at:10:30|x', { tags: [tag('7', 'order'), tag('10:30', 'at')] }],
    ['x-mailin-custom', '{"order": 7}', { tags: [tag('7', 'order')] }],
    ['x-tags', 'a, b', { tags: [tag('a'), tag('b')] }],
    [
      'x-smtpapi',
      `{"category": ["a", "b"], "unique_args": {"order": "7"}, "send_at": ${nine / 1_000}, "filters": {"opentrack": {"settings": {"enable": 0}}, "clicktrack": {"settings": {"enable": 1}}, "bcc": {"settings": {"enable": 0}}}}`,
      { tags: [tag('a'), tag('b'), tag('7', 'order')], scheduledFor: nine, trackOpens: false, trackClicks: true },
    ],
    [
      'x-msys-api',
      '{"campaign_id": "c", "metadata": {"order": 7}, "options": {"open_tracking": false}}',
      { tags: [tag('c'), tag('7', 'order')], trackOpens: false },
    ],
  ]
  for (const [name, value, expected] of table) {
    t.ok(isServiceField(name), name)
    t.same(read([name, value]), { ...none, ...expected }, `${name}: ${value}`)
  }
  t.equal(read(['resend-idempotency-key', 'a'], ['x-service-idempotency-key', 'b']).idempotencyKey, 'b', 'ours wins')
})

t.test('a field that asks for another message or other recipients is refused', async (t) => {
  const table: readonly (readonly [name: string, value: string])[] = [
    ['x-mailgun-template-name', 'welcome'],
    ['x-mailgun-recipient-variables', '{"a@b.test": {"id": 1}}'],
    ['x-mailgun-require-tls', 'yes'],
    ['x-mailgun-archive-to', 'b@b.test'],
    ['x-mailgun-deliver-by', 'tomorrow'],
    ['x-mc-template', 'welcome'],
    ['x-mc-bccaddress', 'b@b.test'],
    ['x-mj-templateid', '12'],
    ['x-smtpapi', '{"to": ["other@b.test"]}'],
    ['x-smtpapi', '{"sub": {"-name-": ["Ann"]}}'],
    ['x-smtpapi', '{"filters": {"templates": {"settings": {"enable": 1, "template_id": "x"}}}}'],
    ['x-smtpapi', 'nothing'],
    ['x-msys-api', '{"bcc": [{"email": "b@b.test"}]}'],
    ['resend-idempotency-key', ''],
  ]
  for (const [name, value] of table) {
    t.throws(() => read([name, value]), { kind: 'malformed-message', message: new RegExp(`^${name}: `) }, name)
  }
  t.same(read(['x-mailgun-require-tls', 'no'], ['x-mc-template', '']), none)
})

t.test('any field and value is accepted or refused, without another error', async (t) => {
  const names = [
    'x-service-tag',
    'x-service-',
    'x-pm-tag',
    'x-ses-message-tags',
    '__proto__',
    'constructor',
    'x-service-priority',
  ]
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...names), fc.string({ unit: 'binary' }))), (drawn) => {
      try {
        read(...drawn)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }),
  )
  t.same(
    ['subject', 'constructor', '__proto__', 'x-services', 'x-mcafee', 'x-entity-ref-id'].filter(isServiceField),
    [],
  )
  t.same(
    ['x-service-anything', 'x-pm-tag', 'x-ses-message-tags'].filter((name) => !isServiceField(name)),
    [],
  )
})
