"""The code tools, one noun a module; what JSON files declare is in `http`."""

from router.flow.prompts.field_names import name_in_chinese

# What `http/weather.json` finds; a tool of code has such words beside it.
name_in_chinese(
    {
        "degrees": "气温（℃）",
        "feels_like": "体感（℃）",
        "humidity": "湿度（%）",
        "today_high": "今天最高（℃）",
        "today_low": "今天最低（℃）",
        "tomorrow_high": "明天最高（℃）",
        "tomorrow_low": "明天最低（℃）",
        "weather": "天气",
        "wind_kmh": "风速（公里/小时）",
    }
)
