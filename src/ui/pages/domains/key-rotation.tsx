/** Rotates the DKIM keys: the other key signs. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { Note, Time } from '../../components/values.tsx'
import type { DomainPartProps } from './domain.ts'

export function KeyRotation({ domain, onChanged }: DomainPartProps): VNode {
  const { id, rotation } = domain
  const signing = domain.dkim_keys.find((key) => key.signing)
  const rotate = async (): Promise<void> => {
    const changed = await unwrap(api.POST('/v1/domains/{id}/rotate', { params: { path: { id } } }))
    onChanged(changed)
    notify(changed.rotation === null ? 'Mail is signed with the other key now.' : 'The rotation has begun.')
  }
  return (
    <Section
      title="Signing keys"
      intro={`Mail is signed with ${signing?.selector ?? 'no key yet'}. Rotation changes to the other key, and replaces the old one.`}
    >
      {rotation === null ? null : (
        <Note tone="info" title={`${rotation.selector} is being replaced`}>
          <p>
            Begun <Time at={rotation.asked_at} />.{' '}
            {rotation.state === 'retiring'
              ? 'Queued mail still needs its old key.'
              : 'The rotation completes when DNS shows the new key.'}
          </p>
        </Note>
      )}
      <Button onClick={rotate} disabled={domain.status !== 'verified'}>
        Rotate the keys
      </Button>
      {domain.status === 'verified' ? null : (
        <p class="section-note">You can rotate the keys once the domain is verified.</p>
      )}
    </Section>
  )
}
