/** Deletes a broadcast that is not being sent. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import type { Broadcast } from './broadcast.ts'

export function BroadcastDeletion({ broadcast: { id, name, status } }: { readonly broadcast: Broadcast }): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/broadcasts/{id}', { params: { path: { id } } }))
    notify(`The broadcast “${name}” is deleted.`)
    navigate('/broadcasts')
  }
  const consequence =
    status === 'draft' || status === 'scheduled'
      ? 'It will not be sent.'
      : 'Its numbers are deleted. Its emails stay, and their links keep working.'
  return (
    <Section title="Delete the broadcast" intro={consequence}>
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete the broadcast
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete “${name}”?`}
          name={name}
          action="Delete the broadcast"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>{consequence} This cannot be undone.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
