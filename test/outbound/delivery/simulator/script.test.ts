/** The addresses of the simulator, and what each attempt at them ends with. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { type ScriptName, scriptNameOf } from '../../../../src/base/mail/simulator-address.js'
import { playScript } from '../../../../src/outbound/delivery/simulator/script.js'

t.test('the local part names the script, with any tag and in any case', async (t) => {
  const cases: readonly (readonly [string, ScriptName | null])[] = [
    ['delivered', 'delivered'],
    ['Bounce', 'bounce'],
    ['bounce+signup-test', 'bounce'],
    ['soft-bounce+a+b', 'soft-bounce'],
    ['complaint+', 'complaint'],
    ['slow', 'slow'],
    ['bounces', null],
    ['soft', null],
    ['toString', null],
    ['"bounce"', null],
  ]
  for (const [localPart, expected] of cases) {
    t.equal(scriptNameOf(parseAddress(`${localPart}@simulator.zone.test`)), expected, localPart)
  }
})

t.test('each script, by attempt', async (t) => {
  const cases: readonly (readonly [ScriptName | null, number, object])[] = [
    ['delivered', 1, { wait: 0, complains: false, outcome: { kind: 'accepted', final: true } }],
    ['complaint', 1, { wait: 1_000, complains: true, outcome: { kind: 'accepted', final: true } }],
    ['slow', 1, { wait: 30_000, complains: false, outcome: { kind: 'accepted', final: true } }],
    ['bounce', 1, { wait: 0, outcome: { kind: 'refused', reason: 'bad-mailbox', recipientsFault: false } }],
    [null, 1, { wait: 0, outcome: { kind: 'refused', reason: 'bad-mailbox', recipientsFault: false } }],
    ['soft-bounce', 1, { outcome: { kind: 'deferred', reason: 'mailbox-full', retry: { after: 30_000 } } }],
    ['soft-bounce', 2, { outcome: { kind: 'deferred', reason: 'mailbox-full', retry: { after: 30_000 } } }],
    ['soft-bounce', 3, { outcome: { kind: 'deferred', reason: 'mailbox-full', retry: 'never' } }],
    ['soft-bounce', 9, { outcome: { kind: 'deferred', reason: 'mailbox-full', retry: 'never' } }],
  ]
  for (const [script, attempt, expected] of cases)
    t.match(playScript(script, attempt), expected, `${script} ${attempt}`)
})
