import { useQuery } from '@tanstack/react-query'
import { CircleUser } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components'
import { whoAmI } from '../api/queries/groups.ts'
import { session } from '../api/session.ts'
import { applyColorScheme, type ColorScheme, colorSchemes, storedColorScheme } from './color-scheme.ts'

const schemeNames: Readonly<Record<ColorScheme, string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
}

export function UserMenu() {
  const { data } = useQuery(whoAmI)
  const [scheme, setScheme] = useState(storedColorScheme)
  const form = useRef<HTMLFormElement>(null)
  const token = useRef<HTMLInputElement>(null)
  const signOut = () => {
    // It changes when the user signs in on another page.
    if (token.current !== null) token.current.value = session.csrfToken
    form.current?.submit()
  }
  const choose = (chosen: ColorScheme) => {
    applyColorScheme(chosen)
    setScheme(chosen)
  }
  return (
    <>
      <MenuTrigger>
        <Button className="icon-button" aria-label="User menu">
          <CircleUser aria-hidden size={22} />
        </Button>
        <Popover className="popover" placement="bottom end">
          <Menu className="menu" aria-label="User menu">
            <MenuSection>
              <Header className="menu-header">
                {data?.profile?.name || data?.email || session.identity}
              </Header>
              <MenuItem className="menu-item" href="/account">
                Account
              </MenuItem>
              <MenuItem className="menu-item" href="/start">
                First steps
              </MenuItem>
              <MenuItem className="menu-item" href="/docs">
                API reference
              </MenuItem>
              <MenuItem className="menu-item" onAction={signOut}>
                Sign out
              </MenuItem>
            </MenuSection>
            <MenuSection
              selectionMode="single"
              disallowEmptySelection
              selectedKeys={[scheme]}
              onSelectionChange={(keys) => {
                const [chosen] = keys
                choose(colorSchemes.find((name) => name === chosen) ?? 'system')
              }}
            >
              <Header className="menu-header">Colors</Header>
              {colorSchemes.map((name) => (
                <MenuItem key={name} id={name} className="menu-item">
                  {schemeNames[name]}
                </MenuItem>
              ))}
            </MenuSection>
          </Menu>
        </Popover>
      </MenuTrigger>
      <form ref={form} method="post" action="/sign-out" hidden>
        <input ref={token} type="hidden" name="form_token" />
      </form>
    </>
  )
}
