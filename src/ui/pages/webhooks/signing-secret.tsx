/** Shows the secret of a webhook once, and says how to use it. */
import type { VNode } from 'preact'
import { Copy, Note } from '../../components/values.tsx'

export function SigningSecret({ secret }: { readonly secret: string }): VNode {
  return (
    <>
      <Note tone="warn" title="Copy the secret now">
        <p>It is shown only once. A lost secret can be replaced, not shown again.</p>
      </Note>
      <p>
        Secret: <Copy text={secret} label="the secret" />
      </p>
      <p class="field-hint">
        Your program checks with it that a request is genuine: <code>X-Service-Signature</code> is <code>sha256=</code>{' '}
        and the HMAC-SHA256 of the body. Libraries for Standard Webhooks take the same secret.
      </p>
    </>
  )
}
