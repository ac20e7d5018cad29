/** Says what the MX record does to the mail that the domain receives elsewhere now. */
import type { VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Note } from '../../components/values.tsx'
import type { Domain } from './domain.ts'
import type { ObservedRecord } from './observed-dns.ts'

interface MxWarningProps {
  readonly domain: Domain
  /** Null until DNS was looked up. */
  readonly found: ObservedRecord | null
}

export function MxWarning({ domain: { domain }, found }: MxWarningProps): VNode | null {
  if (found?.state === 'correct') return null
  if (found?.state === 'other') {
    return (
      <Note tone="warn" title={`Mail for ${domain} arrives at another server now`}>
        <p>
          Its MX record is {allowBreaks(found.found.join(', '))}. If you replace it with the MX record above, all mail
          for {domain} arrives here, and no longer there. To send from the domain you do not need the MX record. To
          receive only some mail here, add a subdomain, such as in.{domain}.
        </p>
      </Note>
    )
  }
  return (
    <Note tone="info">
      <p>
        The MX record moves all mail for {domain} to this server.{' '}
        {found?.state === 'missing' ? 'No MX record was found, so no mail is diverted. ' : ''}
        To send from the domain you do not need it.
      </p>
    </Note>
  )
}
