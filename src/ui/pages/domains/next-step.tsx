/** Names the step after the verification of a domain, as long as the workspace has delivered nothing: a key, or an email. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Note } from '../../components/values.tsx'

export function NextStep({ domain }: { readonly domain: string }): VNode | null {
  const steps = useLoad(() => unwrap(sessionApi.GET('/ui/api/first-steps')), [])
  if (steps.data === undefined || steps.data.is_delivered) return null
  const needsKey = !steps.data.has_key && mayAdminister.value
  return (
    <Note tone="good" title={`${domain} is ready: send your first email`}>
      <p>
        {needsKey
          ? 'A program needs an API key. The page of the new key has samples to run. You can also write an email here.'
          : 'Write an email here, or run a sample with one of your API keys.'}
      </p>
      <div class="form-actions note-actions">
        {needsKey ? (
          <ButtonLink href="/keys/new" tone="primary">
            Create an API key
          </ButtonLink>
        ) : null}
        <ButtonLink href="/emails/new" tone={needsKey ? 'plain' : 'primary'}>
          Send an email
        </ButtonLink>
        {needsKey ? null : <ButtonLink href="/keys">API keys and samples</ButtonLink>}
      </div>
    </Note>
  )
}
