/** The deletion of a workspace, for its owner. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { workspace } from '../../api/session-state.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { Note } from '../../components/values.tsx'
import { readSession } from '../../session/sign-in.ts'

export interface PartProps {
  readonly shown: components['schemas']['DetailedWorkspace']
}

export function WorkspaceDeletion({ shown: { id, name } }: PartProps): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  if (workspace.value?.is_operator === true) return <OperatorNote />
  const leave = (): void => navigate('/')
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/workspaces/{id}', { params: { path: { id } } }))
    notify(`The workspace “${name}” is deleted.`)
    leave()
    await readSession()
  }
  return (
    <Section title="Delete the workspace" intro="Its domains, keys, mail, contacts and members are erased.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete {name}
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete the workspace “${name}”?`}
          name={name}
          action="Delete the workspace"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>Its keys stop working at once, its queued mail is not sent, and all of its records are erased.</p>
          <p>You cannot undo this.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}

function OperatorNote(): VNode {
  return (
    <Section title="Delete the workspace">
      <Note tone="info">
        <p>
          This is the workspace of the operator, which receives mail to the postmaster of the service. You can delete it
          after you have chosen another one with <code>posthorn workspace set-operator</code>.
        </p>
      </Note>
    </Section>
  )
}
