import t from 'tap'
import { type Address, parseAddress } from '../../../../src/base/mail/address.js'
import { isAboutDomains, resolveDestinations } from '../../../../src/inbound/receiving/recipients/destinations.js'
import type { InboundRecipient, SystemName } from '../../../../src/inbound/receiving/recipients/recipient-policy.js'

const system = (name: SystemName): InboundRecipient => ({ kind: 'system', name, detail: '' })

const policy = {
  classify: async (address: Address): Promise<InboundRecipient> =>
    address.startsWith('bounce+')
      ? { kind: 'return-path', recipientId: address.includes('forged') ? null : 'one' }
      : system(address.slice(0, address.indexOf('@')) as SystemName),
}

t.test('reports about domains are a copy of their own, and belong to no workspace', async (t) => {
  const addresses = ['fbl', 'dmarc', 'bounce+x', 'tlsrpt', 'postmaster', 'bounce+forged'].map((local) =>
    parseAddress(`${local}@zone.test`),
  )
  t.match(await resolveDestinations(addresses, policy, { find: async () => 'ws_1' }), {
    destinations: [
      { kind: 'mail', workspaceId: 'ws_1', addresses: ['postmaster@zone.test'] },
      { kind: 'report', addresses: ['fbl@zone.test', 'bounce+x@zone.test'] },
      { kind: 'report', addresses: ['dmarc@zone.test', 'tlsrpt@zone.test'] },
    ],
    ignoredAddresses: ['bounce+forged@zone.test'],
    goneAddresses: [],
  })
  const [, dmarc] = addresses
  const found = await resolveDestinations(dmarc === undefined ? [] : [dmarc], policy, { find: async () => null })
  t.match(found, { destinations: [{ kind: 'report' }], goneAddresses: [] }, 'also without an operator')
})

t.test('which addresses get reports about domains', async (t) => {
  for (const name of ['dmarc', 'tlsrpt'] as const) t.ok(isAboutDomains(system(name)), name)
  for (const name of ['fbl', 'unsubscribe', 'postmaster', 'abuse'] as const) t.notOk(isAboutDomains(system(name)), name)
  t.notOk(isAboutDomains({ kind: 'return-path', recipientId: 'one' }))
})
