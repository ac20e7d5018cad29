/** Our own MTA-STS policy: its text, and which hosts have it. */
import t from 'tap'
import type { Config } from '../../../../src/base/config/complete.js'
import { parseConfig } from '../../../../src/base/config/load.js'
import { PolicyFinder } from '../../../../src/workspaces/domains/mta-sts/find-policy.js'
import { buildOwnPolicy } from '../../../../src/workspaces/domains/mta-sts/own-policy.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'

function configOf(toml: string): Config {
  const machine = { hostname: 'mail.z.test', home: '/', isRoot: true, stateHome: undefined }
  const loaded = parseConfig(`[service]\nzone = "z.test"\n[inbound]\n${toml}`, null, machine)
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

t.test('the policy names the MX host, the mode and the time', async (t) => {
  t.equal(buildOwnPolicy(configOf('')), null)
  const policy = buildOwnPolicy(configOf('mta_sts = "enforce"\nmta_sts_max_age = "30d"'))
  t.equal(policy?.text, 'version: STSv1\r\nmode: enforce\r\nmx: mx.z.test\r\nmax_age: 2592000\r\n')
  t.match(policy?.id, /^[0-9a-f]{32}$/)
})

t.test('only hosts of our zone and of domains whose mail comes to us alone have it', async (t) => {
  const { resolveMx } = zoneResolver({
    'ours.test': { mx: [[10, 'MX.z.test']] },
    'shared.test': {
      mx: [
        [10, 'mx.z.test'],
        [20, 'mx.other.test'],
      ],
    },
    'away.test': { mx: [[10, 'mx.other.test']] },
    'none.test': {},
    'broken.test': 'failure',
    'foreign.test': { mx: [[10, 'mx.z.test']] },
  })
  const receives = async (domain: string): Promise<boolean> => domain !== 'foreign.test'
  const finder = new PolicyFinder({ config: configOf('mta_sts = "testing"'), receives, resolveMx })
  const kinds = async (...hosts: readonly string[]): Promise<readonly string[]> =>
    Promise.all(hosts.map(async (host) => (await finder.find(host)).kind))
  t.same(await kinds('mta-sts.z.test', 'MTA-STS.z.test:8443', 'mta-sts.ours.test'), ['policy', 'policy', 'policy'])
  t.same(await kinds('mta-sts.shared.test', 'mta-sts.away.test', 'mta-sts.none.test', 'mta-sts.foreign.test'), [
    'none',
    'none',
    'none',
    'none',
  ])
  t.same(await kinds('z.test', 'mail.z.test', '', 'mta-sts.', 'mta-sts.a b', '[::1]:443'), Array(6).fill('none'))
  t.same(await kinds('mta-sts.broken.test'), ['unknown'])
  const off = new PolicyFinder({ config: configOf(''), receives, resolveMx })
  t.equal((await off.find('mta-sts.z.test')).kind, 'none')
})
