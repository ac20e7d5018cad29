/** The addresses of endpoints: judged anew by each turn of the event loop, and found once by one. */
import t from 'tap'
import { createAddressGuard } from '../../../src/base/platform/address-guard.js'
import type { LookupResult } from '../../../src/base/platform/dns/resolver.js'
import { EndpointAddresses } from '../../../src/workspaces/webhooks/endpoint-addresses.js'

const mayConnect = createAddressGuard([])
const records = (...list: [string, ...string[]]): LookupResult<string> => ({ kind: 'records', records: list })

t.test('one look-up for what begins in the same turn, another one for the next', async (t) => {
  const asked: string[] = []
  const answers = new Map([
    ['a.test', [records('8.8.8.8', '10.0.0.1'), records('127.0.0.1')]],
    ['b.test', [records('9.9.9.9')]],
  ])
  const resolveAddresses = async (host: string): Promise<LookupResult<string>> => {
    asked.push(host)
    return answers.get(host)?.shift() ?? { kind: 'no-domain' }
  }
  const endpoints = new EndpointAddresses({ mayConnect, resolveAddresses, timeout: () => 10_000 })
  const urls = ['https://a.test/x', 'https://a.test/x', 'https://b.test/', 'http://1.1.1.1/', 'http://10.0.0.1/']
  t.same(await Promise.all(urls.map((url) => endpoints.find(url))), [
    { kind: 'addresses', addresses: ['8.8.8.8'] },
    { kind: 'addresses', addresses: ['8.8.8.8'] },
    { kind: 'addresses', addresses: ['9.9.9.9'] },
    { kind: 'addresses', addresses: ['1.1.1.1'] },
    { kind: 'refused' },
  ])
  t.same(asked, ['a.test', 'b.test'])
  t.same(await endpoints.find('https://a.test/x'), { kind: 'refused' }, 'the name leads elsewhere now')
  t.same(await endpoints.find('https://a.test/x'), { kind: 'unresolved', reason: 'the host does not exist' })
  t.equal(asked.length, 4)
})

t.test('DNS that never answers is a fault within the time limit', async (t) => {
  const resolveAddresses = (): Promise<LookupResult<string>> => new Promise(() => undefined)
  const endpoints = new EndpointAddresses({ mayConnect, resolveAddresses, timeout: () => 20 })
  t.match(await endpoints.find('https://a.test/'), { kind: 'unresolved', reason: 'DNS gave no answer within 0.02 s' })
})
