/** Says because of which entries of the suppression list nothing was sent, and leads to them. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import type { ApiError } from '../../api/api-error.ts'
import { Note } from '../../components/values.tsx'
import { toSuppression } from './suppression-links.tsx'

/** Returns the recipients because of which nothing was sent. */
export function listSuppressed({ code, details }: ApiError): readonly string[] {
  const { suppressed } = details
  if (code !== 'all_recipients_suppressed' || !Array.isArray(suppressed)) return []
  return suppressed.filter((address) => typeof address === 'string')
}

/** Addresses that the note names. */
const MAX_NAMED = 10

export function SuppressedNote({ addresses }: { readonly addresses: readonly string[] }): VNode | null {
  if (addresses.length === 0) return null
  return (
    <Note tone="warn" title="Nothing was sent, because each address is on the suppression list">
      <ul>
        {addresses.slice(0, MAX_NAMED).map((address) => (
          <li key={address}>
            <Link href={toSuppression(address)}>Show the entry of {address}</Link>
          </li>
        ))}
      </ul>
      <p>The entry says why. You can remove it there if the address works and its owner wants your email.</p>
    </Note>
  )
}
