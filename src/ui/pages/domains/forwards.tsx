/** The forwarding rules of a domain: where mail for an address is sent on to. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge } from '../../components/values.tsx'
import type { Domain } from './domain.ts'
import { describeMatch, type Forward } from './forward.ts'
import { ForwardDialog } from './forward-dialog.tsx'

type Open = { readonly act: 'add' } | { readonly act: 'change' | 'delete'; readonly rule: Forward }

export function Forwards({ domain }: { readonly domain: Domain }): VNode {
  const pages = usePages((position) => loadForwards(domain.id, position), [domain.id])
  const [open, setOpen] = useState<Open | null>(null)
  const close = (): void => setOpen(null)
  const mayForward = domain.status === 'verified' && domain.inbound
  return (
    <Section
      title="Forwards"
      intro="A rule sends mail for an address on to other addresses or to a webhook."
      actions={
        mayAdminister.value && mayForward ? (
          <Button onClick={() => setOpen({ act: 'add' })}>Add a forward</Button>
        ) : undefined
      }
    >
      <PagedTable
        caption={`Forwards of ${domain.domain}`}
        pages={pages}
        columns={buildColumns(domain.domain, setOpen)}
        rowKey={({ id }) => id}
        empty={<NoForward mayForward={mayForward} />}
      />
      {open === null || open.act === 'delete' ? null : (
        <ForwardDialog
          domain={domain}
          rule={open.act === 'change' ? open.rule : null}
          onSaved={pages.reload}
          onClose={close}
        />
      )}
      {open?.act === 'delete' ? (
        <DeleteDialog domain={domain} rule={open.rule} onDeleted={pages.reload} onClose={close} />
      ) : null}
    </Section>
  )
}

function NoForward({ mayForward }: { readonly mayForward: boolean }): VNode {
  return (
    <Empty title="No mail is forwarded">
      <p>
        {mayForward
          ? 'Add a forward, for example of info to your own address.'
          : 'Only a verified domain that receives mail can forward. Turn on “Receive mail” first.'}
      </p>
    </Empty>
  )
}

function buildColumns(domain: string, onOpen: (open: Open) => void): readonly Column<Forward>[] {
  const columns: readonly Column<Forward>[] = [
    { title: 'Mail to', show: ({ match }) => allowBreaks(describeMatch(match, domain)) },
    { title: 'Goes to', show: (rule) => <Targets rule={rule} /> },
    { title: 'Also kept here', show: ({ keep, webhook_id: webhook }) => (keep || webhook !== null ? 'Yes' : 'No') },
    {
      title: 'State',
      show: ({ enabled }) => (
        <StatusBadge status={enabled ? 'active' : 'disabled'}>{enabled ? 'On' : 'Off'}</StatusBadge>
      ),
    },
  ]
  if (!mayAdminister.value) return columns
  return [...columns, { title: 'Actions', kind: 'actions', show: (rule) => <Acts {...{ rule, domain, onOpen }} /> }]
}

interface ActsProps {
  readonly rule: Forward
  readonly domain: string
  readonly onOpen: (open: Open) => void
}

function Acts({ rule, domain, onOpen }: ActsProps): VNode {
  const what = describeMatch(rule.match, domain)
  return (
    <>
      <Button small label={`Change the forward of ${what}`} onClick={() => onOpen({ act: 'change', rule })}>
        Change
      </Button>
      <Button small label={`Delete the forward of ${what}`} onClick={() => onOpen({ act: 'delete', rule })}>
        Delete
      </Button>
    </>
  )
}

function Targets({ rule: { to, unconfirmed, webhook_id: webhook } }: { readonly rule: Forward }): VNode {
  return (
    <>
      {to.map((address) => (
        <div key={address}>
          {allowBreaks(address)}
          {unconfirmed.includes(address) ? (
            <span class="row-note">Waits: its owner was asked by mail, and has not agreed yet.</span>
          ) : null}
        </div>
      ))}
      {webhook === null ? null : <div>A webhook</div>}
    </>
  )
}

interface DeleteDialogProps {
  readonly domain: Domain
  readonly rule: Forward
  readonly onDeleted: () => void
  readonly onClose: () => void
}

function DeleteDialog({ domain: { id, domain }, rule, onDeleted, onClose }: DeleteDialogProps): VNode {
  const remove = async (): Promise<void> => {
    const path = { id, forward_id: rule.id }
    await unwrap(api.DELETE('/v1/domains/{id}/forwards/{forward_id}', { params: { path } }))
    notify('The forward is deleted.')
    onDeleted()
  }
  return (
    <ConfirmDialog
      title={`Delete the forward of ${describeMatch(rule.match, domain)}?`}
      action="Delete the forward"
      onConfirm={remove}
      onClose={onClose}
    >
      <p>Mail that arrives from now on is not sent on. Mail that the rule has queued already is still delivered.</p>
    </ConfirmDialog>
  )
}

function loadForwards(id: string, position: string | undefined): Promise<ListPage<Forward>> {
  return loadOffsetPage(position, (query) =>
    unwrap(api.GET('/v1/domains/{id}/forwards', { params: { path: { id }, query } })),
  )
}
