/** Hold rules: the mail that the operator holds as long as a rule lasts. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText, readTime } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time, toWords } from '../../components/values.tsx'
import type { HoldRule } from './operator-types.ts'

/** Milliseconds until the list is loaded again while a rule begins or ends. */
const WHILE_CHANGING = 1_000

export function HoldRules({ onChanged }: { readonly onChanged: () => void }): VNode {
  const rules = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/queue/rules')), [], {
    every: ({ data }) => (data.every(({ state }) => state === 'active') ? null : WHILE_CHANGING),
  })
  const [isAdding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<HoldRule | null>(null)
  const refresh = (): void => {
    rules.reload()
    onChanged()
  }
  const remove = async ({ id }: HoldRule): Promise<void> => {
    await unwrap(sessionApi.DELETE('/ui/api/operator/queue/rules/{id}', { params: { path: { id } } }))
    notify('The hold rule has ended. The mail that it held is sent.')
    refresh()
  }
  return (
    <>
      <p>
        Mail that matches a rule waits in the queue until the rule ends. This includes mail that is in the queue
        already.
      </p>
      <p>
        <Button onClick={() => setAdding(true)}>Add a hold rule</Button>
      </p>
      <Loaded from={rules}>{({ data }) => <RuleTable rules={data} onRemove={setRemoving} />}</Loaded>
      {isAdding ? <AddDialog onAdded={refresh} onClose={() => setAdding(false)} /> : null}
      {removing === null ? null : (
        <ConfirmDialog
          title={`End the hold rule ${removing.id}?`}
          action="End the rule"
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>It holds mail {describeMail(removing)}. All mail that it held is sent.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

interface RuleTableProps {
  readonly rules: readonly HoldRule[]
  readonly onRemove: (rule: HoldRule) => void
}

/** Shows the rules. If a held entry links to its rule, it shows that rule alone. */
function RuleTable({ rules: all, onRemove }: RuleTableProps): VNode {
  const chosen = useSearchParams()[0].get('rule')
  const rules = chosen === null ? all : all.filter(({ id }) => id === chosen)
  if (rules.length > 0) {
    return (
      <>
        {rules.length === all.length ? null : (
          <p>
            <AllRules />
          </p>
        )}
        <Table caption="Hold rules" columns={buildColumns(onRemove)} rows={rules} rowKey={({ id }) => id} />
      </>
    )
  }
  if (chosen !== null) {
    return (
      <Empty title={`There is no hold rule ${chosen}`}>
        <p>
          If it has ended, the mail that it held is sent. <AllRules />
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="There are no hold rules">
      <p>A rule holds the mail to a domain, of a sender, to matching addresses, or of a workspace.</p>
    </Empty>
  )
}

function AllRules(): VNode {
  return <Link href="/operator/queue?tab=rules">Show all hold rules</Link>
}

function buildColumns(onRemove: (rule: HoldRule) => void): readonly Column<HoldRule>[] {
  return [
    { title: 'Mail', show: (rule) => <span class="short-value">{allowBreaks(describeMail(rule))}</span> },
    { title: 'State', show: ({ state }) => toWords(state) },
    { title: 'Held', kind: 'number', show: ({ held }) => formatNumber(held) },
    { title: 'Added', show: ({ created_at: at }) => <Time at={at} /> },
    { title: 'Ends', show: ({ until }) => <Time at={until} otherwise="When you end it" /> },
    { title: 'Rule', show: ({ id }) => <span class="one-line">{id}</span> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (rule) =>
        rule.state === 'ending' ? null : (
          <Button small onClick={() => onRemove(rule)} label={`End ${rule.id}`}>
            End
          </Button>
        ),
    },
  ]
}

/** Describes the mail of a rule. Its end is not part of the text. */
function describeMail({ domain, pattern, sender, workspace_id: workspaceId }: HoldRule): string {
  const parts = [
    ['to', domain],
    ['to', pattern],
    ['from', sender],
    ['of', workspaceId],
  ] as const
  return parts.flatMap(([word, value]) => (value === null ? [] : [`${word} ${value}`])).join(', ')
}

interface AddDialogProps {
  readonly onAdded: () => void
  readonly onClose: () => void
}

function AddDialog({ onAdded, onClose }: AddDialogProps): VNode {
  const add = async (values: FormData): Promise<void> => {
    await unwrap(sessionApi.POST('/ui/api/operator/queue/rules', { body: readRule(values) }))
    notify('The hold rule is in effect.')
    onAdded()
    onClose()
  }
  return (
    <Dialog title="Add a hold rule" onClose={onClose}>
      <p>The rule holds mail that matches all filled fields.</p>
      <Form onSubmit={add}>
        <TextField name="domain" label="Domain of recipients" optional maxLength={255} />
        <TextField
          name="pattern"
          label="Addresses of recipients"
          hint="* stands for any characters: news-*@example.org"
          optional
          maxLength={254}
        />
        <TextField name="sender" label="From address, or its domain" optional maxLength={254} />
        <TextField name="workspace_id" label="Id of the workspace" optional maxLength={100} />
        <TextField
          name="until"
          label="Ends at"
          type="datetime-local"
          hint="Leave it empty to end the rule by hand."
          optional
        />
        <FormActions>
          <SubmitButton>Hold this mail</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

function readRule(values: FormData): Record<string, string> {
  const given = ['domain', 'pattern', 'sender', 'workspace_id'].map((name) => [name, readText(values, name)] as const)
  const until = readTime(values, 'until')
  return Object.fromEntries([...given, ['until', until ?? ''] as const].filter(([, value]) => value !== ''))
}
