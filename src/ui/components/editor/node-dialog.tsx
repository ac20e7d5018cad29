/** The dialogs of the editor: for links, variables, and the blocks that have attributes instead of text. */
import type { VNode } from 'preact'
import { toFieldError } from '../../api/api-error.ts'
import { Button } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { SelectField, TextArea, TextField } from '../fields.tsx'
import { Form, FormActions, SubmitButton } from '../form.tsx'
import { readExactText, readText } from '../form-values.ts'
import { type Attributes, type FormKind, isImageUrl, isLink } from './mail-document.ts'

interface NodeDialogProps {
  readonly kind: FormKind
  /** The present attributes. Null means that something new is inserted. */
  readonly attrs: Attributes | null
  /** True if a link needs a text, because none is selected. */
  readonly asksText: boolean
  readonly variables: readonly string[]
  readonly onDone: (attrs: Attributes) => void
  /** Takes the link away. */
  readonly onUnlink: () => void
  readonly onClose: () => void
}

const titles: Readonly<Record<FormKind, string>> = {
  link: 'Link',
  button: 'Button',
  image: 'Image',
  spacer: 'Space',
  html: 'HTML',
  variable: 'Variable',
}

export function NodeDialog(props: NodeDialogProps): VNode {
  const { kind, attrs, onDone, onUnlink, onClose } = props
  const submit = async (values: FormData): Promise<void> => {
    onDone(readers[kind](values))
  }
  return (
    <Dialog title={titles[kind]} onClose={onClose} wide={kind === 'html'}>
      <Form onSubmit={submit}>
        <NodeFields {...props} />
        <FormActions>
          <SubmitButton>{attrs === null ? 'Insert' : 'Apply'}</SubmitButton>
          {kind === 'link' && attrs !== null ? <Button onClick={onUnlink}>Remove the link</Button> : null}
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

function NodeFields({ kind, attrs, asksText, variables }: NodeDialogProps): VNode {
  const value = (name: string): string => String(attrs?.[name] ?? '')
  switch (kind) {
    case 'link':
      return (
        <>
          {asksText ? <TextField name="text" label="Text" optional hint="Without it, the address is shown." /> : null}
          <LinkField name="href" label="Address" value={value('href')} />
        </>
      )
    case 'button':
      return <ButtonFields value={value} />
    case 'image':
      return <ImageFields value={value} />
    case 'spacer':
      return <HeightField value={value('height') || '24'} />
    case 'html':
      return (
        <TextArea
          name="html"
          label="HTML"
          rows={12}
          mono
          value={value('html')}
          hint="It goes into the mail as it is."
        />
      )
    case 'variable':
      return <VariableFields value={value} variables={variables} />
  }
}

interface ValueProps {
  /** The present value of an attribute, as a text. */
  readonly value: (name: string) => string
}

function ButtonFields({ value }: ValueProps): VNode {
  return (
    <>
      <TextField name="label" label="Text" value={value('label')} maxLength={200} />
      <LinkField name="href" label="Address" value={value('href')} />
      <ColorField value={value('color')} />
      <AlignField value={value('align')} />
    </>
  )
}

function HeightField({ value }: { readonly value: string }): VNode {
  return <TextField name="height" label="Height in pixels" type="number" inputMode="numeric" value={value} />
}

function VariableFields({ value, variables }: ValueProps & Pick<NodeDialogProps, 'variables'>): VNode {
  return (
    <>
      <TextField
        name="name"
        label="Name"
        value={value('name')}
        suggestions={variables}
        hint="Such as first_name. Each recipient sees their own value there."
      />
      <TextField
        name="fallback"
        label="Text without a value"
        optional
        maxLength={500}
        value={value('fallback')}
        hint="Recipients without a value see this text."
      />
    </>
  )
}

function LinkField({
  name,
  label,
  value,
}: {
  readonly name: string
  readonly label: string
  readonly value: string
}): VNode {
  return (
    <TextField
      name={name}
      label={label}
      inputMode="url"
      value={value}
      placeholder="https://example.com"
      hint="A web address, mailto: with a mail address, or a variable such as {{unsubscribe_url}}."
    />
  )
}

function ImageFields({ value }: ValueProps): VNode {
  return (
    <>
      <TextField
        name="src"
        label="Address of the image"
        inputMode="url"
        value={value('src')}
        placeholder="https://example.com/image.png"
        hint="Put the image on a web server that everybody can reach, such as that of your website. Posthorn does not serve images to the readers of mail."
      />
      <TextField
        name="alt"
        label="Description"
        optional
        maxLength={500}
        value={value('alt')}
        hint="Shown until the image is loaded, and read by screen readers. Leave it empty for decoration."
      />
      <TextField
        name="href"
        label="Link"
        optional
        inputMode="url"
        value={value('href')}
        placeholder="https://example.com"
      />
      <TextField
        name="width"
        label="Width in pixels"
        type="number"
        inputMode="numeric"
        optional
        value={value('width')}
        hint="Without it, the image is as wide as its place, up to 552."
      />
      <AlignField value={value('align')} />
    </>
  )
}

const colors = ['blue', 'black', 'green', 'red', 'purple', 'orange']

function ColorField({ value }: { readonly value: string }): VNode {
  const options = colors.map((color) => ({ value: color, label: `${color.charAt(0).toUpperCase()}${color.slice(1)}` }))
  return <SelectField name="color" label="Color" options={options} value={value || 'blue'} />
}

function AlignField({ value }: { readonly value: string }): VNode {
  const options = [
    { value: 'left', label: 'Left' },
    { value: 'center', label: 'Center' },
    { value: 'right', label: 'Right' },
  ]
  return <SelectField name="align" label="Place" options={options} value={value || 'left'} />
}

const readers: Readonly<Record<FormKind, (values: FormData) => Attributes>> = {
  link: (values) => ({ href: readLink(values, 'href'), text: readText(values, 'text') }),
  button: (values) => ({
    label: requireText(values, 'label'),
    href: readLink(values, 'href'),
    color: readText(values, 'color'),
    align: readText(values, 'align'),
  }),
  image: (values) => ({
    src: readImage(values),
    alt: readText(values, 'alt'),
    href: readText(values, 'href') === '' ? null : readLink(values, 'href'),
    width: readText(values, 'width') === '' ? null : readPixels(values, 'width', 600),
    align: readText(values, 'align'),
  }),
  spacer: (values) => ({ height: readPixels(values, 'height', 200) }),
  html: (values) => ({ html: readExactText(values, 'html') }),
  variable: (values) => {
    const name = requireText(values, 'name')
    const fallback = readText(values, 'fallback')
    if (!/^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u.test(name)) {
      throw toFieldError('name', 'Must be letters, digits, _, - and dots, without spaces.')
    }
    if (/[{}]/.test(fallback)) throw toFieldError('fallback', 'Must have no braces.')
    return { name, fallback: fallback === '' ? null : fallback }
  },
}

function requireText(values: FormData, name: string): string {
  const text = readText(values, name)
  if (text === '') throw toFieldError(name, 'Fill in this field.')
  return text
}

function readLink(values: FormData, name: string): string {
  const url = completeUrl(requireText(values, name))
  if (isLink(url)) return url
  throw toFieldError(name, 'Must begin with https://, http://, mailto: or tel:, or be a variable.')
}

/** Adds https:// to an address that begins with the name of a host, such as www.example.com. */
function completeUrl(text: string): string {
  return /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+(:\d+)?([/?#]\S*)?$/u.test(text) ? `https://${text}` : text
}

function readImage(values: FormData): string {
  const url = completeUrl(requireText(values, 'src'))
  if (isImageUrl(url)) return url
  throw toFieldError('src', 'Must begin with https:// or http://, or be a variable.')
}

function readPixels(values: FormData, name: string, max: number): number {
  const pixels = Number(requireText(values, name))
  if (Number.isInteger(pixels) && pixels >= 1 && pixels <= max) return pixels
  throw toFieldError(name, `Must be a whole number from 1 to ${max}.`)
}
