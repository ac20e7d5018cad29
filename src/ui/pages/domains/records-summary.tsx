/** Says in a sentence what the look-up of the required records has found, and what to do. */
import type { VNode } from 'preact'
import { Copy, Note } from '../../components/values.tsx'
import type { Domain } from './domain.ts'
import { isForced } from './domain-status.tsx'
import { findObserved, type ObservedDns } from './observed-dns.ts'

interface RecordsSummaryProps {
  readonly domain: Domain
  /** What DNS has now. Undefined until it was looked up. */
  readonly dns: ObservedDns | undefined
}

export function RecordsSummary({ domain, dns }: RecordsSummaryProps): VNode | null {
  const states = domain.dns_records.map((record) => findObserved(dns, record)?.state)
  const count = (state: string): number => states.filter((one) => one === state).length
  if (dns === undefined || isForced(domain) || count('correct') === states.length) return null
  if (count('missing') === states.length) return <NothingThere domain={domain.domain} />
  if (count('other') === 0) return null
  return (
    <Note tone="warn">
      <p>DNS has other values in place of some of these records. Each record shows what is there: replace it.</p>
    </Note>
  )
}

/** Endings that the public DNS never has (RFC 6761). */
const RESERVED = /\.(?:test|example|invalid|localhost)$/

function NothingThere({ domain }: { readonly domain: string }): VNode {
  const [ending] = RESERVED.exec(domain) ?? []
  if (ending === undefined) {
    return (
      <Note tone="info">
        <p>DNS has none of these records yet. Publish them, wait some minutes, and check again.</p>
      </Note>
    )
  }
  return (
    <Note tone="info" title={`Names under ${ending} cannot be found in DNS`}>
      <p>
        DNS has none of these records yet. The ending {ending} is reserved for trials, so the public DNS never has them.
        The operator of this server can verify the domain without DNS, with this command:
      </p>
      <p>
        <Copy text={`posthorn domain verify ${domain} --force`} label="the command that verifies the domain" />
      </p>
    </Note>
  )
}
