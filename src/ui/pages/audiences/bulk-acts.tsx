/** Acts on the contacts that are selected in a list. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { SelectField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { loadAllAudiences } from './audience.ts'

type Operation = components['schemas']['BulkRequest']['operation']

type OpenDialog = 'move' | 'delete'

interface BulkActsProps {
  /** The ids of the selected contacts. */
  readonly ids: readonly string[]
  /** The number of all contacts that the page shows. */
  readonly count: number
  readonly onSelectAll: (all: boolean) => void
  readonly onDone: () => void
}

export function BulkActs({ ids, count, onSelectAll, onDone }: BulkActsProps): VNode {
  const [open, setOpen] = useState<OpenDialog | null>(null)
  const act = async (operation: Operation, audienceId?: string): Promise<void> => {
    const target = audienceId === undefined ? {} : { audience_id: audienceId }
    const body = { contact_ids: [...ids], operation, ...target }
    const { message } = await unwrap(api.POST('/v1/contacts/bulk', { body }))
    notify(`${message}.`)
    onDone()
  }
  const isAll = ids.length === count
  return (
    <fieldset class="bulk-acts" aria-label="Actions for the selected contacts">
      <Button small onClick={() => onSelectAll(!isAll)}>
        {isAll ? 'Select none' : `Select this page (${count})`}
      </Button>
      <span class="soft" role="status">
        {ids.length === 0 ? '' : `${ids.length} selected`}
      </span>
      {ids.length === 0 ? null : <ActButtons onAct={act} onOpen={setOpen} />}
      {open === 'move' ? <MoveDialog count={ids.length} onMove={act} onClose={() => setOpen(null)} /> : null}
      {open === 'delete' ? (
        <DeleteDialog count={ids.length} onDelete={() => act('delete')} onClose={() => setOpen(null)} />
      ) : null}
    </fieldset>
  )
}

interface ActButtonsProps {
  readonly onAct: (operation: 'subscribe' | 'unsubscribe') => Promise<void>
  readonly onOpen: (dialog: OpenDialog) => void
}

function ActButtons({ onAct, onOpen }: ActButtonsProps): VNode {
  return (
    <>
      <Button small onClick={() => onAct('subscribe')}>
        Subscribe
      </Button>
      <Button small onClick={() => onAct('unsubscribe')}>
        Unsubscribe
      </Button>
      <Button small onClick={() => onOpen('move')}>
        Move
      </Button>
      <Button small tone="danger" onClick={() => onOpen('delete')}>
        Delete
      </Button>
    </>
  )
}

interface DeleteDialogProps {
  readonly count: number
  readonly onDelete: () => Promise<void>
  readonly onClose: () => void
}

function DeleteDialog({ count, onDelete, onClose }: DeleteDialogProps): VNode {
  return (
    <ConfirmDialog
      title={`Delete ${formatContacts(count)}?`}
      name={String(count)}
      action="Delete the contacts"
      onConfirm={onDelete}
      onClose={onClose}
    >
      <p>You cannot restore deleted contacts. Type their number to confirm.</p>
    </ConfirmDialog>
  )
}

interface MoveDialogProps {
  readonly count: number
  readonly onMove: (operation: 'move', audienceId: string) => Promise<void>
  readonly onClose: () => void
}

function MoveDialog({ count, onMove, onClose }: MoveDialogProps): VNode {
  const audiences = useLoad(loadAllAudiences)
  const move = async (values: FormData): Promise<void> => {
    await onMove('move', readText(values, 'audience_id'))
    onClose()
  }
  return (
    <Dialog title={`Move ${formatContacts(count)}`} onClose={onClose}>
      <Loaded from={audiences}>
        {(all) => (
          <Form onSubmit={move}>
            <SelectField
              name="audience_id"
              label="Target audience"
              options={all.map(({ id, name }) => ({ value: id, label: name }))}
              hint="Contacts whose address that audience has already stay where they are."
            />
            <FormActions>
              <SubmitButton>Move them</SubmitButton>
              <Button onClick={onClose}>Cancel</Button>
            </FormActions>
          </Form>
        )}
      </Loaded>
    </Dialog>
  )
}

function formatContacts(count: number): string {
  return count === 1 ? '1 contact' : `${count} contacts`
}
