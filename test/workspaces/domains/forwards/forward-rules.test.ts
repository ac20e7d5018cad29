import t from 'tap'
import type { DomainName } from '../../../../src/base/mail/address.js'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { localPartKey } from '../../../../src/base/mail/mailbox-key.js'
import { parseMatch, pickRule, requireNoLoop } from '../../../../src/workspaces/domains/forwards/forward-rules.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

const domain = 'in.test' as DomainName
const rules = new Map(['*', 'sales', 'sales+vip', '"odd+one"'].map((key) => [key, key]))

for (const [address, rule] of [
  ['Sales@in.test', 'sales'],
  ['sales+x@in.test', 'sales'],
  ['sales+vip@in.test', 'sales+vip'],
  ['sales+vip+x@in.test', 'sales'],
  ['+sales@in.test', '*'],
  ['other@in.test', '*'],
  ['"sales"@in.test', 'sales'],
] as const) {
  t.test(`${address} is matched by ${rule}`, async (t) => {
    t.equal(pickRule(rules, localPartKey(parseAddress(address))), rule)
  })
}

t.test('without a rule for all others', async (t) => {
  t.equal(pickRule(new Map([['sales', 1]]), 'other'), undefined)
})

t.test('what a rule may match', async (t) => {
  for (const [text, key] of [
    ['Sales', 'sales'],
    ['sales@IN.test', 'sales'],
    ['*', '*'],
    ['*@in.test', '*'],
    ['"sales"', 'sales'],
  ] as const)
    t.equal(parseMatch(text, domain), key)
  for (const text of ['', 'a b', 'a@other.test', '@in.test', 'x'.repeat(65)]) {
    t.match(await catchRefusal(() => parseMatch(text, domain)), {
      kind: 'invalid-parameter',
      details: { field: 'match' },
    })
  }
})

t.test('a rule that matches its own target is refused', async (t) => {
  for (const [match, target, isRefused] of [
    ['sales', 'sales@in.test', true],
    ['sales', 'SALES+x@in.test', true],
    ['sales+x', 'sales@in.test', false],
    ['*', 'any@in.test', true],
    ['sales', 'sales@other.test', false],
  ] as const) {
    const check = (): void => requireNoLoop(match, domain, [parseAddress(target)])
    if (isRefused)
      t.match(await catchRefusal(check), { kind: 'invalid-parameter', details: { field: 'to[0]' } }, target)
    else t.doesNotThrow(check, target)
  }
})
