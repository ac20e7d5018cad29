/** The choice of a template, with a field for each of its variables. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { SelectField, TextField } from '../../components/fields.tsx'
import { readExactText } from '../../components/form-values.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'

type Template = components['schemas']['Template']

/** Templates that are offered: the newest. */
const MAX_TEMPLATES = 100
const PREFIX = 'template_data.'

export function TemplateFields(): VNode {
  const templates = useLoad(async () => {
    const { data } = await unwrap(api.GET('/v1/templates', { params: { query: { limit: MAX_TEMPLATES } } }))
    return data
  })
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

interface TemplateData {
  [name: string]: string | TemplateData
}

/** The values that were given; a name with dots is a value within objects. */
export function readTemplateData(values: FormData): TemplateData {
  const data: TemplateData = Object.create(null)
  for (const field of values.keys()) {
    const value = readExactText(values, field)
    if (field.startsWith(PREFIX) && value !== '') setValue(data, field.slice(PREFIX.length).split('.'), value)
  }
  return data
}

function setValue(data: TemplateData, path: readonly string[], value: string): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    data[name] = value
    return
  }
  const known = data[name]
  const inner: TemplateData = typeof known === 'object' ? known : Object.create(null)
  data[name] = inner
  setValue(inner, rest, value)
}
