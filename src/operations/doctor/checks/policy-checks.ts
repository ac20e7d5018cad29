/** Checks MTA-STS (RFC 8461) of the service zone: its record, and the policy that is fetched over HTTPS. */
import type { Config } from '../../../base/config/complete.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { getOverHttps } from '../../../base/platform/http/https-get.js'
import { buildOwnPolicy } from '../../../workspaces/domains/mta-sts/own-policy.js'
import { describeMissing, listTexts, recordsOf } from '../answers.js'
import { ANSWER_TIMEOUT, type Check, type CheckDeps } from '../check.js'
import { failure, good, type Judgement, undecided, warning } from '../finding.js'

/** Bytes (RFC 8461 section 3.3 asks for at least this limit). */
const MAX_POLICY = 65_536

export const policyChecks: readonly Check[] = [
  { name: 'mta-sts', summary: 'the MTA-STS policy of the zone is right, if there is one', run: checkPolicy },
]

async function checkPolicy({ config, resolver, authorities }: CheckDeps): Promise<readonly Judgement[]> {
  const { zone } = config.service
  const record = await resolver.resolveRecords(`_mta-sts.${zone}`, 'TXT')
  if (record.kind === 'failure') return [undecided(zone, describeMissing(record), [`dig _mta-sts.${zone} TXT`])]
  if (!recordsOf(record).some((text) => text.startsWith('v=STSv1'))) {
    return [good(zone, 'the zone has no MTA-STS record, so it needs no policy')]
  }
  const host = `mta-sts.${zone}`
  const addresses = await resolver.resolveAddresses(host)
  const url = new URL(`https://${host}/.well-known/mta-sts.txt`)
  try {
    const limits = { timeout: ANSWER_TIMEOUT, maxBytes: MAX_POLICY, authorities }
    const { status, body } = await getOverHttps(url, { ...limits, addresses: recordsOf(addresses) })
    const judged = judgePolicy(url.href, status, body, config.service)
    return [judged.state === 'ok' ? judgeOwn(judged, body, buildOwnPolicy(config)?.text ?? null) : judged]
  } catch (error) {
    return [judgeNoPolicy(url.href, errorMessageOf(error), zone)]
  }
}

function judgeNoPolicy(url: string, reason: string, zone: string): Judgement {
  return failure(url, `the record announces a policy that cannot be fetched: ${reason}`, [
    `curl -v ${url}`,
    `# or remove the record _mta-sts.${zone}. TXT`,
  ])
}

/** `own` is null if another server serves the policy, and its text is not ours. */
export function judgeOwn(judged: Judgement, body: string, own: string | null): Judgement {
  if (own === null || own.trimEnd() === body.trimEnd()) return judged
  return failure(judged.subject, 'the served policy differs from inbound.mta_sts', ['systemctl restart posthorn'])
}

export function judgePolicy(
  url: string,
  status: number,
  body: string,
  { zone, inbound_mx_host: host }: Pick<Config['service'], 'zone' | 'inbound_mx_host'>,
): Judgement {
  if (status !== 200) return judgeNoPolicy(url, `status ${status}`, zone)
  const fields = body.split('\n').map((line) => line.split(':', 2).map((part) => part.trim().toLowerCase()))
  const valuesOf = (name: string): string[] => fields.flatMap(([key, value = '']) => (key === name ? [value] : []))
  const [mode = ''] = valuesOf('mode')
  if (valuesOf('version')[0] !== 'stsv1' || !['enforce', 'testing', 'none'].includes(mode)) {
    return failure(url, 'the policy has no version STSv1, or no mode', [
      'version: STSv1',
      'mode: testing',
      `mx: ${host}`,
      'max_age: 86400',
    ])
  }
  const hosts = valuesOf('mx')
  if (mode === 'none' || hosts.some((pattern) => matchesHost(pattern, host)))
    return good(url, `mode ${mode}, ${listTexts(hosts)}`)
  const text = `the policy does not name ${host}: servers that honour it do not deliver here`
  return mode === 'enforce' ? failure(url, text, [`mx: ${host}`]) : warning(url, text, [`mx: ${host}`])
}

/** `*.` stands for one label (RFC 8461 section 4.1). */
function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.slice(host.indexOf('.') + 1) === pattern.slice(2) : pattern === host
}
