/** What several recipients with policies of their own make of one message. */
import t from 'tap'
import { type Address, parseAddress } from '../../../../src/base/mail/address.js'
import type { Authentication, DmarcPolicy } from '../../../../src/base/mail/authentication-results.js'
import type { InboundPolicy } from '../../../../src/base/storage/tables/domain-tables.js'
import type { DmarcSetting } from '../../../../src/inbound/receiving/authentication/acceptance-policy.js'
import { decideForRecipients } from '../../../../src/inbound/receiving/authentication/recipient-decisions.js'
import { defaultInboundPolicy } from '../../../../src/workspaces/domains/rows/inbound-policy.js'

const policies: Readonly<Record<string, Partial<InboundPolicy>>> = {
  'plain@a.test': {},
  'strict@a.test': { dmarc: 'strict' },
  'off@a.test': { dmarc: 'off' },
  'nospam@a.test': { spam: 'refuse' },
  'nothing@a.test': { spam: 'refuse', dmarc: 'strict' },
}

function results(disposition: DmarcPolicy | 'pass' | 'unpublished', fromFields = 1): Authentication {
  const failed = disposition === 'none' || disposition === 'quarantine' || disposition === 'reject'
  const result = failed ? 'fail' : disposition === 'pass' ? 'pass' : 'none'
  return {
    spf: { result: 'none', identity: 'helo', domain: '', reason: null, explanation: null },
    dkim: [],
    dmarc: {
      ...{ result, domain: 'b.test', policyDomain: 'b.test', policy: failed ? disposition : null, reason: null },
      disposition: failed ? disposition : 'none',
    },
    arc: { result: 'none', reason: null },
    iprev: { result: 'fail', name: null },
    fromFields,
  }
}

async function decide(to: readonly string[], authentication: Authentication, setting: DmarcSetting = 'reject') {
  const policyOf = async (address: Address): Promise<InboundPolicy> => ({
    ...defaultInboundPolicy,
    ...policies[address],
  })
  const addresses = to.map((name) => parseAddress(`${name}@a.test`))
  const { message, spamReasonOf, refusesSpam } = await decideForRecipients(authentication, addresses, policyOf, setting)
  const reasons = addresses.map((address) => spamReasonOf([address]))
  return { message: message.kind, reasons, together: spamReasonOf(addresses), refusesSpam }
}

t.test('one recipient', async (t) => {
  const cases: readonly (readonly [string, Authentication, string, string | null, boolean])[] = [
    ['plain', results('pass'), 'accept', null, false],
    ['plain', results('none'), 'accept', null, false],
    ['plain', results('quarantine'), 'spam', 'dmarc-quarantine', false],
    ['plain', results('reject'), 'refuse', 'dmarc-reject', true],
    ['strict', results('pass'), 'accept', null, false],
    ['strict', results('unpublished'), 'accept', null, false],
    ['strict', results('none'), 'refuse', 'dmarc-strict', true],
    ['strict', results('reject'), 'refuse', 'dmarc-strict', true],
    ['off', results('reject'), 'accept', null, false],
    ['off', results('pass', 2), 'refuse', 'two-from-fields', true],
    ['nospam', results('pass'), 'accept', null, true],
    ['nospam', results('none'), 'accept', null, true],
    ['nospam', results('quarantine'), 'refuse', 'dmarc-quarantine', true],
    ['nothing', results('none'), 'refuse', 'dmarc-strict', true],
  ]
  for (const [to, authentication, message, reason, refusesSpam] of cases) {
    const expected = { message, reasons: [reason], together: reason, refusesSpam }
    t.same(await decide([to], authentication), expected, `${to} ${authentication.dmarc.disposition}`)
  }
})

t.test('a strict recipient does not refuse for the others, and its own copy is spam', async (t) => {
  const failed = results('none')
  t.same(await decide(['strict', 'plain'], failed), {
    message: 'accept',
    reasons: ['dmarc-strict', null],
    together: null,
    refusesSpam: false,
  })
  t.same((await decide(['strict', 'nothing'], failed)).message, 'refuse')
  t.same(await decide(['plain', 'off'], results('reject')), {
    message: 'accept',
    reasons: ['dmarc-reject', null],
    together: null,
    refusesSpam: false,
  })
  t.same((await decide(['plain', 'nospam'], results('quarantine'))).message, 'spam')
  t.equal((await decide(['nospam', 'nothing'], results('pass'))).refusesSpam, true)
  t.equal((await decide(['nospam', 'plain'], results('pass'))).refusesSpam, false)
  t.equal((await decide(['nospam', 'strict'], failed)).refusesSpam, true, 'one refuses it anyhow')
})

t.test('the setting of the service', async (t) => {
  t.equal((await decide(['plain'], results('reject'), 'quarantine')).message, 'spam')
  t.equal((await decide(['plain'], results('reject'), 'report')).message, 'accept')
  t.equal((await decide(['strict'], results('none'), 'report')).message, 'refuse')
})
