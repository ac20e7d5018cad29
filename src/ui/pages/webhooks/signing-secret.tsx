/** Shows the secret of a webhook once, and says how to use it. */
import type { VNode } from 'preact'
import { Copy, Note } from '../../components/values.tsx'

export function SigningSecret({ secret }: { readonly secret: string }): VNode {
  return (
    <>
      <Note tone="warn" title="Copy the secret now">
        <p>This page shows it only once. If you lose the secret, replace it.</p>
      </Note>
      <p>
        Secret: <Copy text={secret} label="the secret" />
      </p>
      <p class="field-hint">
        Your program uses it to check that a request is genuine: <code>X-Service-Signature</code> is{' '}
        <code>sha256=</code> and the HMAC-SHA256 of the body. Libraries for Standard Webhooks take the same secret.
      </p>
    </>
  )
}
