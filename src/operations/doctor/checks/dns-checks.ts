/** Checks that DNS answers: without it no mail goes out, and most other checks find nothing. */
import type { LookupResult } from '../../../base/platform/dns/resolver.js'
import { type DnsServer, formatDnsServer } from '../../../base/platform/dns/transport.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy } from '../finding.js'

export const dnsChecks: readonly Check[] = [
  { name: 'dns', summary: 'the DNS servers answer', run: async (deps) => [await checkDns(deps)] },
]

/** The checks that ask DNS: what they could not find out has the cause that `dns` failed. */
export const needingDns: readonly string[] = [
  ...['clock', 'dnssec', 'ptr', 'helo', 'port25-out', 'blocklist', 'delegation', 'zone', 'service-dkim', 'mta-sts'],
  ...['spf', 'dkim', 'dmarc', 'mx'],
]

/** The subject of the check if no servers are configured. */
export const SYSTEM_SERVERS = "the system's servers"

async function checkDns({ config, resolver }: CheckDeps): Promise<Judgement> {
  const name = config.doctor.mx_domains[0] ?? config.service.zone
  return judgeDns(config.dns.servers, name, await resolver.resolveMx(name))
}

/** A negative answer is one. */
function judgeDns(servers: readonly DnsServer[], name: string, answer: LookupResult<unknown>): Judgement {
  const subject = servers.length === 0 ? SYSTEM_SERVERS : servers.map(formatDnsServer).join(', ')
  if (answer.kind !== 'failure') return good(subject, `answered for ${name}`)
  const text = `DNS does not answer: no answer for ${name} (${answer.detail}); no mail goes out`
  return { ...failure(subject, text, describeCure(servers, name)), explains: needingDns }
}

/** The system's servers are in its own file. Those of the configuration are asked by hand, each at its port. */
function describeCure(servers: readonly DnsServer[], name: string): Remedy {
  if (servers.length === 0) {
    const local = 'servers = ["127.0.0.1"]   # after: apt-get install unbound'
    return ['cat /etc/resolv.conf', `dig ${name} MX`, '[dns]', local]
  }
  return [
    ...servers.map(({ address, port }) => `dig @${address} -p ${port} ${name} MX`),
    '[dns]',
    'servers = ["ADDRESS"]   # a server that answers, or [] for those of the system',
  ]
}
