/** The one-time link by which an owner sets the first password. */
import type { VNode } from 'preact'
import { Copy, Note, Time } from '../../components/values.tsx'

interface PasswordLinkProps {
  readonly link: { readonly url: string; readonly expires_at: string }
  readonly email: string
}

export function PasswordLink({ link: { url, expires_at: expiresAt }, email }: PasswordLinkProps): VNode {
  return (
    <>
      <Note tone="warn" title="Copy the link now">
        <p>
          This page shows it only once. Send it to {email} over a channel that you trust, because it sets the password.
        </p>
      </Note>
      <p>
        <Copy text={url} label="the link" />
      </p>
      <p>
        It works once, until <Time at={expiresAt} />.
      </p>
    </>
  )
}
