/** Checks that DNS answers: without it no mail goes out, and most other checks find nothing. */
import type { LookupResult } from '../../../base/platform/dns/resolver.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement } from '../finding.js'

export const dnsChecks: readonly Check[] = [
  { name: 'dns', summary: 'the DNS servers answer', run: async (deps) => [await checkDns(deps)] },
]

/** The checks that ask DNS. */
const needingDns = [
  ...['clock', 'dnssec', 'ptr', 'helo', 'port25-out', 'blocklist', 'delegation', 'zone', 'service-dkim', 'mta-sts'],
  ...['spf', 'dkim', 'dmarc', 'mx'],
]

async function checkDns({ config, resolver }: CheckDeps): Promise<Judgement> {
  const { servers } = config.dns
  const name = config.doctor.mx_domains[0] ?? config.service.zone
  const subject = servers.length === 0 ? "the system's servers" : servers.map(({ address }) => address).join(', ')
  return judgeDns(subject, name, await resolver.resolveMx(name))
}

/** A negative answer is one. */
function judgeDns(subject: string, name: string, answer: LookupResult<unknown>): Judgement {
  if (answer.kind !== 'failure') return good(subject, `answered for ${name}`)
  const found = failure(subject, `DNS does not answer: no answer for ${name} (${answer.detail}); no mail goes out`, [
    'cat /etc/resolv.conf',
    `dig ${name} MX`,
    '[dns]',
    'servers = ["127.0.0.1"]   # after: apt-get install unbound',
  ])
  return { ...found, explains: needingDns }
}
