/** The fields of a workspace that recipients read: the language and the postal address of the footer of broadcasts. */
import type { VNode } from 'preact'
import type { components } from '../../api/schema.d.ts'
import { SelectField, TextArea } from '../../components/fields.tsx'
import { readText } from '../../components/form-values.ts'

type Language = components['schemas']['Workspace']['language']

/** Each in its own words. */
const names: Readonly<Record<Language, string>> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  it: 'Italiano',
  nl: 'Nederlands',
  pt: 'Português',
  pl: 'Polski',
}

const options = Object.entries(names).map(([value, label]) => ({ value, label }))

export function toLanguageName(language: Language): string {
  return names[language]
}

interface RecipientFieldsProps {
  readonly language: Language
  readonly postalAddress: string | null
}

export function RecipientFields({ language, postalAddress }: RecipientFieldsProps): VNode {
  return (
    <>
      <SelectField
        name="language"
        label="Language of recipients"
        options={options}
        value={language}
        hint="The footer of broadcasts and the page on which recipients unsubscribe are in this language."
      />
      <TextArea
        name="postal_address"
        label="Postal address"
        optional
        rows={3}
        value={postalAddress ?? ''}
        hint="The footer of broadcasts ends with it. In many countries advertising mail must have one."
      />
    </>
  )
}

export function readRecipientValues(values: FormData): {
  readonly language: Language
  readonly postal_address: string | null
} {
  const language = readText(values, 'language')
  return {
    language: isLanguage(language) ? language : 'en',
    postal_address: readText(values, 'postal_address') || null,
  }
}

function isLanguage(text: string): text is Language {
  return Object.hasOwn(names, text)
}
