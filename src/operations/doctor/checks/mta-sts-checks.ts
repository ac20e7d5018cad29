/**
 * Checks that the MX host has a certificate that other servers accept under our own MTA-STS policy. `policy-checks` and
 * `zone-checks` check that the policy is published.
 */
import type { X509Certificate } from 'node:crypto'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { readPair } from '../../certificates/certificate-rows.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, warning } from '../finding.js'
import { findDefault, hasKnownRoot, judgeChain, judgeDays, judgeNames, parseChain } from './tls-checks.js'

export const mtaStsChecks: readonly Check[] = [
  {
    name: 'mta-sts-mx',
    summary: 'the MX host has a certificate that other servers accept under our MTA-STS policy',
    run: checkMxHost,
  },
]

async function checkMxHost(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { inbound, service } = deps.config
  const { mta_sts: mode } = inbound
  if (mode === 'off' || mode === 'none')
    return [good(service.inbound_mx_host, `this check is not needed, because inbound.mta_sts is ${mode}`)]
  return [judgeMxHost(service.inbound_mx_host, mode, await findFaults(deps))]
}

/** What is wrong with the certificate. Empty if nothing is. */
async function findFaults(deps: CheckDeps): Promise<readonly string[]> {
  const { config, clock, authorities } = deps
  const host = config.service.inbound_mx_host
  try {
    const chain = await readMxChain(deps)
    const remedy: Remedy = ['posthorn doctor tls acme']
    const days = judgeDays(host, chain, clock(), remedy)
    const others = [...judgeNames(host, chain, [host]), judgeChain(host, chain, await hasKnownRoot(chain, authorities))]
    // A certificate that expires soon is still valid; the check `tls` warns of it.
    const isInvalid = days.state === 'fail' && !days.text.includes('expires in')
    const wrong = others.filter(({ state }) => state !== 'ok')
    return [...(isInvalid ? [days] : []), ...wrong].map(({ text }) => text)
  } catch (error) {
    return [errorMessageOf(error)]
  }
}

/** Clients that ask for the name of the MX host get its own certificate, if there is one. */
async function readMxChain(deps: CheckDeps): Promise<readonly X509Certificate[]> {
  const { config, read } = deps
  const { service, tls } = config
  const own = tls.acme.enabled && read !== null ? await readPair(read, service.inbound_mx_host) : null
  return parseChain(own?.cert ?? (await (await findDefault(deps)).read()))
}

export function judgeMxHost(host: string, mode: 'testing' | 'enforce', faults: readonly string[]): Judgement {
  if (faults.length === 0) return good(host, `the certificate fits the policy (${mode})`)
  const text = faults.join('; ')
  if (mode === 'testing') {
    return warning(host, `${text}: with the mode enforce, other servers would deliver no mail`, [
      'posthorn doctor tls acme',
    ])
  }
  return failure(host, `${text}: other servers deliver no mail under our policy`, [
    'posthorn doctor tls acme',
    '[inbound]   # until then',
    'mta_sts = "testing"',
  ])
}
