/** Adds or changes a forwarding rule. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { loadAll } from '../../api/load-all.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readLines, readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import type { Domain } from './domain.ts'
import { describeMatch, type Forward } from './forward.ts'

interface ForwardDialogProps {
  readonly domain: Domain
  /** Null for a new rule. */
  readonly rule: Forward | null
  readonly onSaved: () => void
  readonly onClose: () => void
}

export function ForwardDialog({ domain: { id, domain }, rule, onSaved, onClose }: ForwardDialogProps): VNode {
  const save = async (values: FormData): Promise<void> => {
    const saved = await saveRule(id, rule, values)
    notify(saved.unconfirmed.length === 0 ? 'The forward is saved.' : 'The forward is saved. New addresses are asked.')
    onSaved()
    onClose()
  }
  const title = rule === null ? 'Add a forward' : `Change the forward of ${describeMatch(rule.match, domain)}`
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={save}>
        {rule === null ? (
          <TextField
            name="match"
            label="Mail to"
            placeholder="info"
            hint={`The part before @${domain}. Enter * for all addresses without a rule of their own.`}
          />
        ) : null}
        <TargetFields rule={rule} />
        <FormActions>
          <SubmitButton>Save the forward</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

function TargetFields({ rule }: { readonly rule: Forward | null }): VNode {
  const webhooks = useLoad(() => loadAll((range) => unwrap(api.GET('/v1/webhooks', { params: { query: range } }))))
  const options = [
    { value: '', label: 'None' },
    ...(webhooks.data ?? []).map(({ id, url }) => ({ value: id, label: url })),
  ]
  return (
    <>
      <TextArea
        name="to"
        label="Send it on to"
        rows={3}
        value={rule?.to.join('\n') ?? ''}
        optional
        hint="One address in each line. An address outside your domains gets a mail first, and must agree."
      />
      <SelectField
        key={options.length}
        name="webhook_id"
        label="Tell a webhook"
        options={options}
        value={rule?.webhook_id ?? ''}
      />
      <CheckField
        name="keep"
        label="Keep a copy here"
        checked={rule?.keep ?? true}
        hint="The message is listed under “Inbound”. A rule with a webhook always keeps it."
      />
      <CheckField name="enabled" label="The rule is on" checked={rule?.enabled ?? true} />
    </>
  )
}

function saveRule(id: string, rule: Forward | null, values: FormData): Promise<Forward> {
  const webhook = readText(values, 'webhook_id')
  const change = {
    to: readLines(values, 'to'),
    webhook_id: webhook === '' ? null : webhook,
    keep: readFlag(values, 'keep'),
    enabled: readFlag(values, 'enabled'),
  }
  if (rule === null) {
    const body = { match: readText(values, 'match'), ...change }
    return unwrap(api.POST('/v1/domains/{id}/forwards', { params: { path: { id } }, body }))
  }
  const path = { id, forward_id: rule.id }
  return unwrap(api.PATCH('/v1/domains/{id}/forwards/{forward_id}', { params: { path }, body: change }))
}
