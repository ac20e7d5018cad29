/** The state of a domain, which says so if the operator has verified it without DNS. */
import type { VNode } from 'preact'
import { StatusBadge } from '../../components/values.tsx'
import type { Domain } from './domain.ts'

export function DomainStatus({ domain }: { readonly domain: Pick<Domain, 'status' | 'forced'> }): VNode {
  if (!isForced(domain)) return <StatusBadge status={domain.status} />
  return (
    <span>
      <StatusBadge status="verified">Verified</StatusBadge>{' '}
      <span class="row-note">by the operator without DNS (a local trial)</span>
    </span>
  )
}

/** A domain whose records DNS need not have. */
export function isForced({ status, forced }: Pick<Domain, 'status' | 'forced'>): boolean {
  return forced && status === 'verified'
}
