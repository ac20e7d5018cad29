/** The choice of a template, with a field for each of its variables. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import { loadAll } from '../../api/load-all.ts'
import type { components } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { SelectField, TextField } from '../../components/fields.tsx'
import { readExactText } from '../../components/form-values.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { nestValues, type Values } from '../templates/nest-values.ts'

type Template = components['schemas']['ListedTemplate']

const PREFIX = 'template_data.'

export function TemplateFields(): VNode {
  const templates = useLoad(() =>
    loadAll((query) => unwrap(sessionApi.GET('/ui/api/templates', { params: { query } }))),
  )
  return (
    <Loaded from={templates}>
      {(list) => (list.length === 0 ? <Empty title="No template yet" /> : <TemplateChoice templates={list} />)}
    </Loaded>
  )
}

function TemplateChoice({ templates }: { readonly templates: readonly Template[] }): VNode {
  const [id, setId] = useState(templates[0]?.id ?? '')
  const { variables = [] } = templates.find((one) => one.id === id) ?? {}
  return (
    <>
      <SelectField
        name="template_id"
        label="Template"
        options={templates.map(({ id: value, name }) => ({ value, label: name }))}
        value={id}
        onChange={setId}
      />
      {variables.map((name) => (
        <TextField key={`${id} ${name}`} name={`${PREFIX}${name}`} label={`Variable ${name}`} optional />
      ))}
    </>
  )
}

/** Reads the values that the user gave. */
export function readTemplateData(values: FormData): Values {
  const given = [...values.keys()]
    .filter((field) => field.startsWith(PREFIX))
    .map((field) => [field.slice(PREFIX.length), readExactText(values, field)])
  return nestValues(Object.fromEntries(given))
}
