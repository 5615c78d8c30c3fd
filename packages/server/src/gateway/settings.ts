import { listSetting, type SettingGroup } from '../config/setting.ts'
import { parseExactOrigin } from '../config/setting-values.ts'

export interface GatewaySettings {
  /** Origins whose pages may call the API. */
  readonly corsOrigins: readonly string[]
}

const corsOrigins = listSetting('BERTH_CORS_ORIGINS', {
  help: 'origins, separated by commas, whose pages may call the API from a browser',
  expected: 'an origin such as https://console.example.com',
  parse: parseExactOrigin,
})

export const gatewaySettings: SettingGroup<GatewaySettings> = {
  settings: [corsOrigins],
  read: ({ read }) => ({ corsOrigins: read(corsOrigins) }),
}
