/** Hold rules in memory: which entries match, the oldest rule first, and patterns. */
import fc from 'fast-check'
import t from 'tap'
import { type Address, type DomainName, parseDomainName } from '../../../../src/base/mail/address.js'
import { compileHoldRules, matchesPieces } from '../../../../src/records/messages/queue/hold-rule-matcher.js'
import { type HoldRule, parsePattern } from '../../../../src/records/messages/queue/hold-rules.js'

const rule = (id: string, more: Partial<HoldRule>): HoldRule => ({
  ...{ id, workspace_id: 'service', domain: null, sender: null, pattern: null, until: null },
  ...{ created_at: 0, ending: 0, cursor: null, reason: null, owner: null },
  ...more,
})

const entry = (recipient: string, workspace_id = 'ws_1') => ({
  workspace_id,
  recipient: recipient as Address,
  domain: recipient.slice(recipient.indexOf('@') + 1) as DomainName,
})

t.test('each thing that a rule names has to fit', async (t) => {
  const match = compileHoldRules([
    rule('domain', { domain: parseDomainName('b.test') }),
    rule('both', { domain: parseDomainName('c.test'), sender: 'a.test' }),
    rule('address', { sender: 'app@d.test' }),
    rule('pattern', { pattern: 'news-*@*.test' }),
    rule('workspace', { workspace_id: 'ws_2' }),
  ])
  const rows: readonly (readonly [ReturnType<typeof entry>, string, string | null])[] = [
    [entry('x@b.test'), 'app@a.test', 'domain'],
    [entry('x@sub.b.test'), 'app@a.test', null],
    [entry('x@c.test'), 'App@A.test', 'both'],
    [entry('x@c.test'), 'app@not-a.test', null],
    [entry('x@e.test'), 'APP@d.test', 'address'],
    [entry('x@e.test'), 'other@d.test', null],
    [entry('NEWS-1@f.test'), 'app@a.test', 'pattern'],
    [entry('news@f.test'), 'app@a.test', null],
    [entry('x@e.test', 'ws_2'), 'app@a.test', 'workspace'],
    [entry('x@e.test', 'service'), 'app@a.test', null],
  ]
  for (const [one, sender, expected] of rows) t.equal(match(one, sender)?.id ?? null, expected, one.recipient)
  t.equal(match(entry('x@c.test'), null), null, 'an email that is gone has no sender')
})

t.test('pieces match as the wildcard says', async () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 })
  const texts = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 })
  fc.assert(
    fc.property(letters, texts, (pattern, text) => {
      const expected = new RegExp(`^${pattern.replace(/\*+/g, '.*')}$`).test(text)
      return matchesPieces(pattern.split('*'), text) === expected
    }),
  )
})

t.test('patterns have limits', async (t) => {
  t.equal(parsePattern('News-*@Example.ORG'), 'news-*@example.org')
  t.equal(parsePattern('a*'.repeat(8)), 'a*'.repeat(8))
  t.equal(parsePattern('a'.repeat(254)).length, 254)
  for (const wrong of ['', '*', '**', 'a b', 'a\n', 'a*'.repeat(9), 'a'.repeat(255)]) {
    t.throws(() => parsePattern(wrong), { kind: 'invalid-parameter', message: /allowed: an address/ }, wrong)
  }
})

t.test(
  'a rule of the circuit breaker holds all workspaces of an owner, and a domain in whatever workspace it is',
  async (t) => {
    const ownerOf = (workspaceId: string): string => (workspaceId === 'ws_3' ? 'ben' : 'anna')
    const match = compileHoldRules(
      [
        rule('whole', { workspace_id: 'ws_1', owner: 'anna', reason: 'bounces' }),
        rule('domain', { workspace_id: 'ws_1', sender: 'a.test', reason: 'bounces' }),
        rule('operator', { workspace_id: 'ws_1', sender: 'b.test' }),
      ],
      ownerOf,
    )
    const heldBy = (workspaceId: string, sender: string) => match(entry('c@c.test', workspaceId), sender)?.id
    t.equal(heldBy('ws_2', 'x@x.test'), 'whole')
    t.equal(heldBy('ws_3', 'x@x.test'), undefined, 'another owner')
    t.equal(heldBy('ws_3', 'x@A.test'), 'domain', 'the domain has moved there')
    t.equal(heldBy('ws_3', 'x@b.test'), undefined, 'a rule of the operator names its workspace')
    const given = compileHoldRules([rule('whole', { workspace_id: 'ws_3', owner: 'anna', reason: 'bounces' })], ownerOf)
    t.equal(given(entry('c@c.test', 'ws_3'), null)?.id, 'whole', 'the workspace that was given away stays held')
  },
)
