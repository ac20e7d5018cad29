/** Header fields by which an app steers the service. */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/mail/refusal.js'
import { type HeaderOptions, isServiceField, readServiceFields } from '../../src/sending/service-headers.js'

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
  t.same(['subject', 'constructor', '__proto__', 'x-services', 'x-pm-tagged'].filter(isServiceField), [])
  t.same(
    ['x-service-anything', 'x-pm-tag', 'x-ses-message-tags'].filter((name) => !isServiceField(name)),
    [],
  )
})
